//! The body of a request for a message.
//!
//! The protocol is stricter than our conversation: roles alternate, no text is empty, the results of a
//! message's calls come first in the next message, and every call has a unique ID of a few allowed
//! characters. Thoughts go back unchanged, in their places. Messages are adapted
//! to that in a deterministic way, so that the provider's cache holds.

use std::collections::HashSet;

use serde_json::{Value, json};
use toolkit::function_schemas::Format;

use crate::model::endpoint::Settings;
use crate::model::{Message, Origin, Picture, ReplySchema, Request, ToolCall};

/// The longest reply where no setting names it: the protocol requires one. Every current model can write as
/// much, and files fit.
const MAX_TOKENS: u64 = 16_000;

/// The longest call ID and tool name that the protocol allows.
const MAX_ID_CHARS: usize = 64;

/// Inserted before a conversation that begins with the model's message, which the protocol forbids.
const EARLIER: &str = "(The conversation began earlier.)";

pub(super) fn body(settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
    let mut body = json!({
        "model": settings.model,
        "max_tokens": settings.options.max_output_tokens.unwrap_or(MAX_TOKENS),
        "stream": true,
        "messages": Messages::of(request.messages, origin, settings.options.vision),
    });
    if let Some(effort) = settings.options.reasoning_effort {
        body["output_config"] = json!({"effort": effort.as_str()});
    }
    if let Some(temperature) = settings.options.temperature {
        body["temperature"] = json!(temperature);
    }
    if !request.system.trim().is_empty() {
        // The cache mark covers the tools too, because they come before it.
        body["system"] = json!([cached(json!({"type": "text", "text": request.system}))]);
    }
    if !request.tools.is_empty() {
        body["tools"] = Value::Array(Format::Anthropic.tools(request.tools));
    }
    if let Some(ReplySchema { schema, .. }) = request.schema {
        body["output_config"]["format"] = json!({"type": "json_schema", "schema": schema});
    }
    body
}

/// Marks the end of what the provider caches for the next request.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

/// The messages under construction: blocks by role, and the IDs of the calls.
#[derive(Default)]
struct Messages {
    messages: Vec<(&'static str, Vec<Value>)>,
    ids: HashSet<String>,
    /// Whether the model sees images.
    sees: bool,
    /// The IDs of the newest calls: ours, and as they are sent.
    calls: Vec<(String, String)>,
}

impl Messages {
    fn of(messages: &[Message], origin: &Origin, sees: bool) -> Value {
        let mut all = Self { sees, ..Self::default() };
        for message in messages {
            all.add(message, origin);
        }
        all.finish()
    }

    fn add(&mut self, message: &Message, origin: &Origin) {
        match message {
            Message::User(text) => self.push_text("user", text),
            Message::Image(image) => {
                let (words, picture) = image.shown(self.sees);
                self.push_text("user", &words);
                if let Some(Picture { media_type, base64, .. }) = picture {
                    let source = json!({"type": "base64", "media_type": media_type, "data": base64});
                    self.push("user", json!({"type": "image", "source": source}));
                }
            }
            Message::Assistant { text, calls, reasoning } => {
                self.calls.clear();
                let ours = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin));
                match ours.and_then(Value::as_array) {
                    Some(blocks) => self.push_blocks(blocks, calls),
                    None => {
                        // A text of the model that ends in whitespace is refused.
                        self.push_text("assistant", text.trim_end());
                        calls.iter().for_each(|call| self.push_call(call));
                    }
                }
            }
            Message::ToolResult { call_id, text } => {
                let known = self.calls.iter().find(|(ours, _)| ours == call_id);
                let id = known.map_or_else(|| sanitized(call_id), |(_, sent)| sent.clone());
                let mut block = json!({"type": "tool_result", "tool_use_id": id});
                if !text.trim().is_empty() {
                    block["content"] = json!(text);
                }
                self.push("user", block);
            }
        }
    }

    /// A message as the model wrote it, with the calls in their places.
    fn push_blocks(&mut self, blocks: &[Value], calls: &[ToolCall]) {
        let mut calls = calls.iter();
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => self.push_text("assistant", block["text"].as_str().unwrap_or_default()),
                Some("tool_use") => calls.next().into_iter().for_each(|call| self.push_call(call)),
                _ => self.push("assistant", block.clone()),
            }
        }
        // A call that the model wrote as text has no place of its own.
        calls.for_each(|call| self.push_call(call));
    }

    fn push_text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, json!({"type": "text", "text": text}));
        }
    }

    fn push_call(&mut self, call: &ToolCall) {
        let id = sanitized(&call.id);
        let others = (2..).map(|number| format!("{id}_{number}"));
        let free = std::iter::once(id.clone()).chain(others).find(|id| !self.ids.contains(id));
        let id = free.unwrap_or(id);
        let input = call.arguments_object().unwrap_or_else(|wrapped| wrapped);
        let name = sanitized(&call.name);
        self.push("assistant", json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        self.ids.insert(id.clone());
        self.calls.push((call.id.clone(), id));
    }

    fn push(&mut self, role: &'static str, block: Value) {
        if self.messages.is_empty() && role != "user" {
            self.push_text("user", EARLIER);
        }
        match self.messages.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            _ => self.messages.push((role, vec![block])),
        }
    }

    fn finish(mut self) -> Value {
        for (_, blocks) in &mut self.messages {
            blocks.sort_by_key(|block| block["type"] != "tool_result");
        }
        if let Some(newest) = self.messages.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
            *newest = cached(newest.take());
        }
        self.messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
    }
}

fn sanitized(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let id: String = text.chars().take(MAX_ID_CHARS).map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if id.is_empty() { "_".to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reasoning;

    fn origin() -> Origin {
        Origin::new("u", "m")
    }

    fn user(text: &str) -> Message {
        Message::User(text.into())
    }

    fn assistant(text: &str, calls: &[(&str, &str)]) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall::new(*id, "ls", *arguments);
        Message::assistant(text, calls.iter().map(call).collect())
    }

    fn result(call_id: &str, text: &str) -> Message {
        Message::ToolResult { call_id: call_id.into(), text: text.into() }
    }

    fn settings() -> Settings {
        Settings::new("http://127.0.0.1/v1".parse().unwrap(), None, "m")
    }

    fn check(messages: &[Message], expected: &Value) {
        let request = Request { system: "", messages, tools: &[], schema: None };
        let mut sent = body(&settings(), &origin(), request)["messages"].take();
        for message in sent.as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        assert_eq!(sent, *expected);
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn call(id: &str, input: Value) -> Value {
        json!({"type": "tool_use", "id": id, "name": "ls", "input": input})
    }

    fn answer(id: &str, text: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": text})
    }

    #[test]
    fn the_results_of_a_messages_calls_come_first_in_the_next_message() {
        check(
            &[
                user("go"),
                assistant("I look. ", &[("a", "{\"b\":1}"), ("c", "{}")]),
                user("and hurry"),
                result("a", "x"),
                result("c", "y"),
            ],
            &json!([
                {"role": "user", "content": [text("go")]},
                {"role": "assistant", "content":
                    [text("I look."), call("a", json!({"b": 1})), call("c", json!({}))]},
                {"role": "user", "content": [answer("a", "x"), answer("c", "y"), text("and hurry")]},
            ]),
        );
    }

    #[test]
    fn roles_alternate_beginning_with_the_user_and_no_text_is_empty() {
        check(
            &[assistant("hello", &[]), user(""), assistant("", &[]), user("a"), user("b")],
            &json!([
                {"role": "user", "content": [text(EARLIER)]},
                {"role": "assistant", "content": [text("hello")]},
                {"role": "user", "content": [text("a"), text("b")]},
            ]),
        );
        check(
            &[user("a"), assistant("", &[("x", "{}")]), result("x", "")],
            &json!([
                {"role": "user", "content": [text("a")]},
                {"role": "assistant", "content": [call("x", json!({}))]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]},
            ]),
        );
    }

    #[test]
    fn every_call_has_a_unique_id_of_allowed_characters() {
        check(
            &[
                user("a"),
                assistant("", &[("call.1", "{}")]),
                result("call.1", "first"),
                assistant("", &[("call.1", "{}")]),
                result("call.1", "second"),
            ],
            &json!([
                {"role": "user", "content": [text("a")]},
                {"role": "assistant", "content": [call("call_1", json!({}))]},
                {"role": "user", "content": [answer("call_1", "first")]},
                {"role": "assistant", "content": [call("call_1_2", json!({}))]},
                {"role": "user", "content": [answer("call_1_2", "second")]},
            ]),
        );
    }

    #[test]
    fn thoughts_go_back_in_their_places_to_the_same_model_only() {
        let thought = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
        let redacted = json!({"type": "redacted_thinking", "data": "x"});
        let place = json!({"type": "tool_use"});
        let blocks = json!([thought("1"), text("I look. "), place, redacted, text(" "), place]);
        let message = |origin: &Origin| {
            let Message::Assistant { text, calls, .. } = assistant("I look.  ", &[("x", "{}"), ("y", "{")])
            else {
                panic!("no message of the model")
            };
            let reasoning = Some(Reasoning::beside(origin, blocks.clone()));
            Message::Assistant { text, calls, reasoning }
        };
        let calls = [call("x", json!({})), call("y", json!({"invalid_arguments": "{"}))];
        let user_said = json!({"role": "user", "content": [text("a")]});
        let sent = |content: Value| json!([user_said, {"role": "assistant", "content": content}]);
        check(
            &[user("a"), message(&origin())],
            &sent(json!([thought("1"), text("I look. "), calls[0], redacted, calls[1]])),
        );
        let foreign = sent(json!([text("I look."), calls[0], calls[1]]));
        check(&[user("a"), message(&Origin::new("u", "other"))], &foreign);
    }

    #[test]
    fn malformed_arguments_go_back_as_the_model_wrote_them() {
        check(
            &[user("a"), assistant("", &[("x", "{\"path\":")]), result("x", "no JSON")],
            &json!([
                {"role": "user", "content": [text("a")]},
                {"role": "assistant", "content": [call("x", json!({"invalid_arguments": "{\"path\":"}))]},
                {"role": "user", "content": [answer("x", "no JSON")]},
            ]),
        );
    }

    #[test]
    fn the_prompt_and_the_newest_message_are_marked_for_the_cache() {
        let messages = [user("a"), assistant("b", &[]), user("c")];
        let body = body(
            &settings(),
            &origin(),
            Request { system: "s", messages: &messages, tools: &[], schema: None },
        );
        let mark = json!({"type": "ephemeral"});
        assert_eq!(body["system"][0]["cache_control"], mark);
        assert_eq!(body["messages"][2]["content"][0]["cache_control"], mark);
        assert_eq!(body.to_string().matches("cache_control").count(), 2);
    }
}
