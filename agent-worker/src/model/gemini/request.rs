//! The body of a request for content: turns of the user and of the model, as parts.
//!
//! A reply goes back to its model as the parts that it came in, because a signature belongs to its part.
//! Gemini 3 refuses the first call of a step without one. Calls that another model made have none, and get
//! the value that Google documents for them.

use serde_json::{Value, json};
use toolkit::function_schemas::Format;

use crate::model::endpoint::Settings;
use crate::model::{Message, Origin, Picture, ReplySchema, Request, ToolCall};

/// What Google takes instead of a signature for a call that its model did not make.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The models before signatures were checked, by the beginnings of their names.
const WITHOUT_CHECK: [&str; 3] = ["gemini-1", "gemini-2", "gemma"];

/// Inserted before a conversation that begins with the model's message.
const EARLIER: &str = "(The conversation began earlier.)";

pub(super) fn body(settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
    let name = settings.model.rsplit('/').next().unwrap_or_default();
    let checks = !WITHOUT_CHECK.iter().any(|beginning| name.starts_with(beginning));
    let mut contents = Contents { checks, sees: settings.options.vision, ..Contents::default() };
    request.messages.iter().for_each(|message| contents.add(message, origin));
    let mut body = json!({"contents": contents.finish()});
    if !request.system.trim().is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        body["tools"] = Value::Array(Format::Gemini.tools(request.tools));
    }
    let options = &settings.options;
    if let Some(tokens) = options.max_output_tokens {
        body["generationConfig"]["maxOutputTokens"] = json!(tokens);
    }
    if let Some(temperature) = options.temperature {
        body["generationConfig"]["temperature"] = json!(temperature);
    }
    if let Some(effort) = options.reasoning_effort {
        body["generationConfig"]["thinkingConfig"] = json!({"thinkingLevel": effort.as_str()});
    }
    if let Some(ReplySchema { schema, .. }) = request.schema {
        body["generationConfig"]["responseMimeType"] = json!("application/json");
        body["generationConfig"]["responseJsonSchema"] = schema.clone();
    }
    body
}

/// The contents under construction: parts by role.
#[derive(Default)]
struct Contents {
    contents: Vec<(&'static str, Vec<Value>)>,
    /// The newest calls: our ID, the name, and the ID on the wire, if the model gave one.
    calls: Vec<(String, String, Value)>,
    /// Whether the model checks signatures.
    checks: bool,
    /// Whether it sees images.
    sees: bool,
}

impl Contents {
    fn add(&mut self, message: &Message, origin: &Origin) {
        match message {
            Message::User(text) => self.push_text("user", text),
            Message::Image(image) => {
                let (words, picture) = image.shown(self.sees);
                self.push_text("user", &words);
                if let Some(Picture { media_type, base64, .. }) = picture {
                    self.push("user", json!({"inlineData": {"mimeType": media_type, "data": base64}}));
                }
            }
            Message::ToolResult { call_id, text } => self.push_result(call_id, text),
            Message::Assistant { text, calls, reasoning } => {
                self.calls.clear();
                let ours = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin));
                match ours.and_then(Value::as_array) {
                    Some(parts) => self.push_parts(parts, calls),
                    None => {
                        self.push_text("model", text);
                        calls.iter().enumerate().for_each(|(index, call)| self.push_call(call, index == 0));
                    }
                }
            }
        }
    }

    fn push_parts(&mut self, parts: &[Value], calls: &[ToolCall]) {
        let mut calls = calls.iter();
        for part in parts {
            let call = &part["functionCall"];
            if let Some(name) = call["name"].as_str()
                && let Some(ours) = calls.next()
            {
                self.calls.push((ours.id.clone(), name.to_owned(), call["id"].clone()));
            }
            self.push("model", part.clone());
        }
        // A call that the model wrote as text has no part of its own, and no signature.
        calls.for_each(|call| self.push_call(call, self.calls.is_empty()));
    }

    fn push_call(&mut self, call: &ToolCall, is_first: bool) {
        let arguments = call.arguments_object().unwrap_or_else(|wrapped| wrapped);
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments}});
        if self.checks && is_first {
            part["thoughtSignature"] = json!(FOREIGN_CALL);
        }
        self.calls.push((call.id.clone(), call.name.clone(), Value::Null));
        self.push("model", part);
    }

    fn push_result(&mut self, call_id: &str, text: &str) {
        let known = self.calls.iter().find(|(ours, _, _)| ours == call_id);
        let (name, id) = known.map_or((call_id, &Value::Null), |(_, name, id)| (name.as_str(), id));
        let mut response = json!({"name": name, "response": {"output": text}});
        if !id.is_null() {
            response["id"] = id.clone();
        }
        self.push("user", json!({"functionResponse": response}));
    }

    fn push_text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, json!({"text": text}));
        }
    }

    fn push(&mut self, role: &'static str, part: Value) {
        if self.contents.is_empty() && role != "user" {
            self.push_text("user", EARLIER);
        }
        match self.contents.last_mut() {
            Some((last, parts)) if *last == role => parts.push(part),
            _ => self.contents.push((role, vec![part])),
        }
    }

    fn finish(self) -> Value {
        self.contents.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reasoning;

    fn origin() -> Origin {
        Origin::new("u", "gemini-3-pro")
    }

    fn contents(model: &str, messages: &[Message]) -> Value {
        let settings = Settings::new("http://127.0.0.1/v1".parse().unwrap(), None, model);
        body(&settings, &origin(), Request { system: "", messages, tools: &[], schema: None })["contents"]
            .take()
    }

    fn result(call_id: &str) -> Message {
        Message::ToolResult { call_id: call_id.into(), text: "exit 0".into() }
    }

    #[test]
    fn parts_go_back_as_they_came_and_results_name_their_call() {
        let parts = json!([
            {"text": "hm", "thought": true},
            {"text": "I look."},
            {"functionCall": {"id": "f1", "name": "ls", "args": {}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "read", "args": {}}},
        ]);
        let calls = vec![ToolCall::new("f1", "ls", "{}"), ToolCall::new("call_1", "read", "{}")];
        let reasoning = Some(Reasoning::beside(&origin(), parts.clone()));
        let turn = Message::Assistant { text: "I look.".into(), calls, reasoning };
        let messages =
            [Message::User("hi".into()), turn, result("f1"), result("call_1"), Message::User("go on".into())];
        let response = |name: &str| json!({"name": name, "response": {"output": "exit 0"}});
        let mut first = response("ls");
        first["id"] = json!("f1");
        assert_eq!(
            contents("gemini-3-pro", &messages),
            json!([
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": parts},
                {"role": "user", "parts": [
                    {"functionResponse": first}, {"functionResponse": response("read")}, {"text": "go on"},
                ]},
            ])
        );
    }

    #[test]
    fn the_first_call_of_another_model_says_so_where_signatures_are_checked() {
        let calls = vec![ToolCall::new("a", "ls", "{"), ToolCall::new("b", "ls", "{}")];
        let messages = [Message::assistant(" ", calls), result("a")];
        let call = |arguments: Value| json!({"functionCall": {"name": "ls", "args": arguments}});
        for (model, is_checked) in
            [("gemini-3-pro", true), ("models/gemini-flash-latest", true), ("gemini-2.5-flash", false)]
        {
            let mut first = call(json!({"invalid_arguments": "{"}));
            if is_checked {
                first["thoughtSignature"] = json!("skip_thought_signature_validator");
            }
            assert_eq!(
                contents(model, &messages)[1],
                json!({"role": "model", "parts": [first, call(json!({}))]}),
                "{model}"
            );
        }
        assert_eq!(contents("gemini-3-pro", &messages)[0]["parts"][0]["text"], EARLIER);
    }
}
