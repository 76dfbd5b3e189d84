//! Builds content from the events of a stream or from one body.
//!
//! The parts of all events follow each other. Pieces of text without a signature are joined; a part with one
//! stays as it came. Thoughts are parts, too, but no part of the text.

use serde_json::{Value, json};

use crate::model::endpoint::{
    ProviderError, ReplyBuilder, ReplyError, ReplyStage, check_content, check_size,
};
use crate::model::{Origin, Reasoning, Reply, ToolCall, Usage};

#[derive(Debug, Default)]
pub(super) struct ContentBuilder {
    parts: Vec<Value>,
    /// Of text and calls, and of everything.
    said_bytes: usize,
    bytes: usize,
    finish_reason: Option<String>,
    /// Why the request itself was blocked.
    block_reason: Option<String>,
    usage: Usage,
    is_done: bool,
}

impl ReplyBuilder for ContentBuilder {
    fn add_event(&mut self, data: &[u8]) -> Result<(), ReplyError> {
        self.add(serde_json::from_slice(data).map_err(ReplyError::invalid)?)
    }

    fn add_body(&mut self, body: &[u8]) -> Result<(), ReplyError> {
        self.is_done = true;
        self.add_event(body)
    }

    fn stage(&self) -> ReplyStage {
        let is_complete = self.finish_reason.is_some() || self.block_reason.is_some();
        ReplyStage::of(self.said_bytes, is_complete, self.is_done)
    }

    fn finish(self, origin: &Origin) -> Result<Reply, ReplyError> {
        let is_said = |part: &&Value| part["thought"] != true;
        let texts = self.parts.iter().filter(is_said).filter_map(|part| part["text"].as_str());
        let text: String = texts.collect();
        let mut reply = match Ending::of(self.block_reason.as_deref().or(self.finish_reason.as_deref())) {
            Ending::Filtered => Reply::filtered(text),
            Ending::Failed(reason) => {
                return Err(ReplyError::invalid(format!("the reply ended with {reason}")));
            }
            Ending::Whole => Reply { text, calls: calls(&self.parts)?, ..Reply::default() },
            Ending::Cut => Reply { text, calls: calls(&self.parts)?, cut: true, ..Reply::default() },
        };
        let is_kept = |part: &Value| {
            part.get("thoughtSignature").is_some()
                || part["thought"] == true
                || !part["functionCall"]["id"].is_null()
        };
        if self.parts.iter().any(is_kept) {
            reply.reasoning = Some(Reasoning::around(&reply, origin, Value::Array(self.parts)));
        }
        check_content(Reply { usage: self.usage, ..reply })
    }
}

impl ContentBuilder {
    fn add(&mut self, mut event: Value) -> Result<(), ReplyError> {
        if !event["error"].is_null() {
            return Err(ReplyError::Provider(ProviderError::in_reply(&event["error"])));
        }
        if event["usageMetadata"].is_object() {
            self.usage = usage(&event["usageMetadata"]);
        }
        if let Some(reason) = event["promptFeedback"]["blockReason"].as_str() {
            self.block_reason = Some(reason.to_owned());
        }
        // We only ask for one candidate.
        if let Some(reason) = event["candidates"][0]["finishReason"].as_str() {
            self.finish_reason = Some(reason.to_owned());
        }
        let parts = event.pointer_mut("/candidates/0/content/parts");
        if let Some(Value::Array(parts)) = parts.map(Value::take) {
            parts.into_iter().for_each(|part| self.add_part(part));
        }
        check_size(self.bytes)
    }

    fn add_part(&mut self, part: Value) {
        let bytes = part["text"].as_str().map_or_else(|| part.to_string().len(), str::len);
        let signature = part["thoughtSignature"].as_str().map_or(0, str::len);
        self.bytes += bytes + signature + 1;
        if part["thought"] != true {
            self.said_bytes += bytes;
        }
        if let (Some(last), Some(more)) = (self.parts.last_mut(), part["text"].as_str())
            && is_plain_text(last)
            && is_plain_text(&part)
            && last["thought"] == part["thought"]
            && let Value::String(so_far) = &mut last["text"]
        {
            so_far.push_str(more);
            return;
        }
        self.parts.push(part);
    }
}

/// What a reply is, by its finish reason or by why its request was blocked.
enum Ending<'a> {
    Whole,
    Cut,
    Filtered,
    Failed(&'a str),
}

impl<'a> Ending<'a> {
    fn of(reason: Option<&'a str>) -> Self {
        match reason {
            // Google ends calls with STOP; others that speak its protocol name them.
            Some("STOP" | "FUNCTION_CALL" | "FINISH_REASON_UNSPECIFIED") | None => Self::Whole,
            Some("MAX_TOKENS") => Self::Cut,
            Some(
                "SAFETY"
                | "RECITATION"
                | "LANGUAGE"
                | "BLOCKLIST"
                | "PROHIBITED_CONTENT"
                | "SPII"
                | "IMAGE_SAFETY"
                | "BLOCK_REASON_UNSPECIFIED",
            ) => Self::Filtered,
            // Such as a call that is no call; another try may do better.
            Some(other) => Self::Failed(other),
        }
    }
}

/// Whether a part is text, perhaps of a thought, and nothing else.
fn is_plain_text(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.keys().all(|key| key == "text" || key == "thought"))
}

fn calls(parts: &[Value]) -> Result<Vec<ToolCall>, ReplyError> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for call in parts.iter().filter_map(|part| part.get("functionCall")) {
        let name = call["name"].as_str().unwrap_or_default();
        if name.trim().is_empty() {
            return Err(ReplyError::invalid("a tool call has no name"));
        }
        let id = call["id"].as_str().unwrap_or_default();
        // The ID alone says which call a result belongs to.
        let is_taken = id.is_empty() || calls.iter().any(|call| call.id == id);
        let id = if is_taken { format!("call_{}", calls.len()) } else { id.to_owned() };
        let arguments = if call["args"].is_null() { json!({}) } else { call["args"].clone() };
        calls.push(ToolCall::new(id, name, arguments.to_string()));
    }
    Ok(calls)
}

/// The token counts; a malformed count must not fail the reply.
fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    Usage {
        input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        cached_input_tokens: count("cachedContentTokenCount"),
        output_tokens: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorClass;
    use crate::model::endpoint::{MAX_REPLY_BYTES, test_replies};

    fn event(parts: &Value, finish_reason: Option<&str>) -> Value {
        let mut event = json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]});
        if let Some(reason) = finish_reason {
            event["candidates"][0]["finishReason"] = json!(reason);
        }
        event
    }

    fn whole(parts: &Value, finish_reason: &str) -> Result<Reply, ReplyError> {
        test_replies::whole::<ContentBuilder>(&event(parts, Some(finish_reason)))
    }

    #[test]
    fn parts_become_text_calls_and_reasoning() {
        let call = json!({"functionCall": {"name": "ls", "args": {"path": "."}}, "thoughtSignature": "s"});
        let other = json!({"functionCall": {"id": "f2", "name": "now"}});
        let mut last = event(&json!([call, other]), Some("STOP"));
        last["usageMetadata"] = json!({"promptTokenCount": 10, "cachedContentTokenCount": 4,
                                       "candidatesTokenCount": 2, "thoughtsTokenCount": 3});
        let events = [
            event(&json!([{"text": "h", "thought": true}]), None),
            event(&json!([{"text": "m", "thought": true}]), None),
            event(&json!([{"text": "I "}]), None),
            event(&json!([{"text": "look", "thoughtSignature": "t"}]), None),
            event(&json!([{"text": "."}]), None),
            last,
        ];
        let mut reply = test_replies::streamed::<ContentBuilder>(&events).unwrap();
        let parts = reply.reasoning.take().unwrap();
        assert_eq!(
            parts.content_for(&test_replies::origin()),
            Some(&json!([
                {"text": "hm", "thought": true}, {"text": "I "}, {"text": "look", "thoughtSignature": "t"},
                {"text": "."}, call, other,
            ]))
        );
        let calls = vec![ToolCall::new("call_0", "ls", r#"{"path":"."}"#), ToolCall::new("f2", "now", "{}")];
        let usage = Usage { input_tokens: 10, cached_input_tokens: 4, output_tokens: 5 };
        assert_eq!(reply, Reply { calls, usage, ..Reply::answer("I look.") });
    }

    #[test]
    fn the_finish_reason_decides_what_a_reply_is() {
        let half = json!([{"text": "half"}]);
        assert_eq!(whole(&half, "STOP").unwrap(), Reply::answer("half"));
        let called = whole(&json!([{"functionCall": {"name": "ls"}}]), "FUNCTION_CALL").unwrap();
        assert_eq!(called.calls, [ToolCall::new("call_0", "ls", "{}")]);
        assert_eq!(whole(&half, "MAX_TOKENS").unwrap(), Reply { cut: true, ..Reply::answer("half") });
        for reason in ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"] {
            let torn = json!([{"text": "half"}, {"functionCall": {"name": "ls"}}]);
            let reply = whole(&torn, reason).unwrap();
            assert!(
                reply.calls.is_empty() && reply.text.starts_with("half\n\n("),
                "{reason}: {}",
                reply.text
            );
        }
        for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"] {
            let why = format!("the reply ended with {reason}");
            assert_eq!(whole(&half, reason), Err(ReplyError::invalid(why)));
        }
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        assert!(test_replies::whole::<ContentBuilder>(&blocked).unwrap().text.contains("withheld"));
    }

    #[test]
    fn a_reply_is_complete_with_its_finish_reason() {
        use ReplyStage::{Complete, Pending, Started};
        let mut builder = ContentBuilder::default();
        assert_eq!(builder.stage(), Pending);
        for (event, expected) in [
            (event(&json!([{"text": "hm", "thought": true}]), None), Pending),
            (event(&json!([{"text": "a"}]), None), Started),
            (event(&json!([{"text": "", "thoughtSignature": "s"}]), Some("STOP")), Complete),
        ] {
            builder.add_event(event.to_string().as_bytes()).unwrap();
            assert_eq!(builder.stage(), expected, "{event}");
        }
        let reply = builder.finish(&test_replies::origin()).unwrap();
        assert!(reply.text == "a" && reply.reasoning.is_some());
    }

    #[test]
    fn an_error_inside_a_success_has_a_class() {
        let error = json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}});
        let Err(ReplyError::Provider(refusal)) = test_replies::streamed::<ContentBuilder>(&[error]) else {
            panic!("no provider error")
        };
        assert_eq!(refusal.class, ModelErrorClass::Overloaded);
    }

    #[test]
    fn malformed_replies_are_refused_with_the_reason() {
        for (parts, why) in [
            (json!([]), "the reply has neither text nor tool calls"),
            (json!([{"text": "hm", "thought": true}]), "the reply has neither text nor tool calls"),
            (json!([{"functionCall": {"name": " "}}]), "a tool call has no name"),
        ] {
            assert_eq!(whole(&parts, "STOP").unwrap_err(), ReplyError::invalid(why));
        }
        for odd in ["[1]", "7", "{\"candidates\":[7]}", "{}"] {
            let mut builder = ContentBuilder::default();
            assert_eq!(
                (builder.add_event(odd.as_bytes()), builder.stage()),
                (Ok(()), ReplyStage::Pending),
                "{odd}"
            );
        }
        let long = json!([{"text": "a".repeat(MAX_REPLY_BYTES + 1)}]);
        assert!(matches!(whole(&long, "STOP"), Err(ReplyError::Invalid(_))));
    }
}
