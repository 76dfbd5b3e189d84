//! Builds a chat completion from the chunks of a stream or from one body.
//!
//! Servers differ in small ways, all of which are accepted: arguments as an object instead of a string,
//! calls without an ID or an index, content in parts, an error inside a success. The arguments of a call
//! are joined as text and never parsed.

use crate::model::endpoint::{
    ProviderError, ReplyBuilder, ReplyError, ReplyStage, check_content, check_size,
};
use crate::model::{Origin, Reasoning, Reply, Usage};

use super::calls::Calls;
use super::reasoning::Collected;
use super::wire::{self, Chunk, Content};

/// The end of a stream.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Default)]
pub(super) struct CompletionBuilder {
    text: String,
    calls: Calls,
    reasoning: Collected,
    finish_reason: Option<String>,
    usage: Usage,
    is_done: bool,
}

impl ReplyBuilder for CompletionBuilder {
    fn add_event(&mut self, data: &[u8]) -> Result<(), ReplyError> {
        if data.trim_ascii() == DONE {
            self.is_done = true;
            return Ok(());
        }
        self.add_chunk(serde_json::from_slice(data).map_err(ReplyError::invalid)?)
    }

    fn add_body(&mut self, body: &[u8]) -> Result<(), ReplyError> {
        let mut chunk: Chunk = serde_json::from_slice(body).map_err(ReplyError::invalid)?;
        if chunk.choices.is_empty() && chunk.error.is_none() {
            return Err(ReplyError::invalid("the reply has no choice"));
        }
        for choice in &mut chunk.choices {
            for (index, call) in (0..).zip(&mut choice.message.tool_calls) {
                call.index = Some(index);
            }
        }
        self.is_done = true;
        self.add_chunk(chunk)
    }

    fn stage(&self) -> ReplyStage {
        ReplyStage::of(self.bytes(), self.finish_reason.is_some(), self.is_done)
    }

    fn finish(self, origin: &Origin) -> Result<Reply, ReplyError> {
        let reason = self.finish_reason.as_deref();
        let reply = match reason {
            // The filter may have cut the calls.
            Some("content_filter") => Reply::filtered(self.text),
            Some("error") => return Err(ReplyError::invalid("the reply ended in an error")),
            _ => {
                let (calls, extras) = self.calls.finish()?;
                let reasoning = self.reasoning.finish(extras);
                let reasoning = reasoning.map(|content| Reasoning::beside(origin, content));
                Reply { text: self.text, calls, reasoning, ..Reply::default() }
            }
        };
        let cut = reason == Some("length");
        check_content(Reply { cut, usage: self.usage, ..reply })
    }
}

impl CompletionBuilder {
    fn add_chunk(&mut self, chunk: Chunk) -> Result<(), ReplyError> {
        if let Some(error) = chunk.error {
            return Err(ReplyError::Provider(ProviderError::in_reply(&error)));
        }
        if let Some(usage) = chunk.usage {
            self.usage = wire::usage(&usage);
        }
        // We only ask for one choice.
        if let Some(choice) = chunk.choices.into_iter().find(|choice| choice.index == 0) {
            self.add(choice.delta);
            self.add(choice.message);
            let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
        }
        check_size(self.bytes() + self.reasoning.bytes())
    }

    fn add(&mut self, content: Content) {
        self.text.push_str(&content.text());
        for call in content.tool_calls {
            self.calls.add(call);
        }
        self.reasoning.add(content.reasoning);
    }

    /// Without the reasoning: while the model thinks, it may pause for long.
    fn bytes(&self) -> usize {
        self.text.len() + self.calls.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::endpoint::{MAX_REPLY_BYTES, test_replies};
    use crate::model::{ModelErrorClass, ToolCall};
    use serde_json::{Value, json};

    fn streamed(chunks: &[Value]) -> Result<Reply, ReplyError> {
        test_replies::streamed::<CompletionBuilder>(chunks)
    }

    fn whole(message: &Value, finish_reason: &str) -> Result<Reply, ReplyError> {
        let body = json!({"choices": [{"message": message, "finish_reason": finish_reason}]});
        test_replies::whole::<CompletionBuilder>(&body)
    }

    /// Chunks with these lists of pieces of calls.
    fn check_calls(pieces: &[Value], expected: &[ToolCall]) {
        let chunk = |calls: &Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
        let mut chunks: Vec<Value> = pieces.iter().map(chunk).collect();
        chunks.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
        assert_eq!(streamed(&chunks).unwrap().calls, expected, "{pieces:?}");
    }

    #[test]
    fn the_pieces_of_calls_are_joined_however_a_server_numbers_them() {
        let both = [ToolCall::new("a", "ls", "{\"path\": \"x\"}"), ToolCall::new("b", "read", "{}")];
        check_calls(
            &[
                json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": ""}}]),
                json!([{"index": 1, "id": "b", "function": {"name": "read", "arguments": "{"}}]),
                json!([{"index": 0, "function": {"arguments": "{\"path\": "}}]),
                json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "\"x\"}"}},
                       {"index": 1, "id": null, "function": {"name": null, "arguments": "}"}}]),
            ],
            &both,
        );
        let same_index =
            json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": {"path": "x"}}}]);
        let other = json!([{"index": 0, "id": "b", "function": {"name": "read"}}]);
        check_calls(&[same_index, other], &[ToolCall::new("a", "ls", "{\"path\":\"x\"}"), both[1].clone()]);
    }

    #[test]
    fn calls_without_an_index_or_an_id_are_told_apart_by_name() {
        let pieces = [
            json!([{"function": {"name": "ls", "arguments": "{\"a\""}}]),
            json!([{"function": {"arguments": ":1}"}}]),
            json!([{"function": {"name": "ls", "arguments": "{}"}}]),
        ];
        check_calls(
            &pieces,
            &[ToolCall::new("call_0", "ls", "{\"a\":1}"), ToolCall::new("call_1", "ls", "{}")],
        );
        let repeated = [
            json!([{"id": "a", "function": {"name": "ls", "arguments": "{"}}]),
            json!([{"id": "a", "function": {"name": "ls", "arguments": "}"}}]),
        ];
        check_calls(&repeated, &[ToolCall::new("a", "ls", "{}")]);
    }

    #[test]
    fn text_is_joined_and_the_usage_comes_last() {
        let chunks = [
            json!({"choices": [], "prompt_filter_results": []}),
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
            json!({"choices": [{"index": 0, "delta": {"content": "a "}, "finish_reason": ""}]}),
            json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
            json!({"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "b"}]}}]}),
            json!({"choices": [{"index": 0, "delta": null, "finish_reason": "stop"}], "usage": null}),
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2,
                   "prompt_tokens_details": {"cached_tokens": 8}}}),
        ];
        let usage = Usage { input_tokens: 10, cached_input_tokens: 8, output_tokens: 2 };
        assert_eq!(streamed(&chunks).unwrap(), Reply { usage, ..Reply::answer("a b") });
    }

    #[test]
    fn malformed_usage_does_not_fail_the_reply() {
        for usage in [json!("free"), json!({"prompt_tokens": 1.5, "completion_tokens": -1}), json!([])] {
            let chunk =
                json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": usage});
            assert_eq!(streamed(&[chunk]).unwrap(), Reply::answer("a"), "{usage}");
        }
    }

    #[test]
    fn a_reply_goes_from_awaited_to_ended() {
        let events = [
            r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ];
        test_replies::check_stages::<CompletionBuilder>(events.map(str::to_owned));
    }

    #[test]
    fn arguments_stay_as_the_model_wrote_them() {
        for (arguments, expected) in [
            (json!("{\"path\": \".\" }"), "{\"path\": \".\" }"),
            (json!("{\"path\":"), "{\"path\":"),
            (json!({"path": "."}), "{\"path\":\".\"}"),
            (json!("  "), "{}"),
            (Value::Null, "{}"),
        ] {
            let message = json!({"content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ls", "arguments": arguments}}
            ]});
            assert_eq!(whole(&message, "tool_calls").unwrap().calls, [ToolCall::new("a", "ls", expected)]);
        }
    }

    #[test]
    fn a_body_becomes_a_reply() {
        let json_text = r#"{"tool_calls":[{"name":"ls","arguments":{}}],"final_answer":""}"#;
        let cut = |text: &str| Reply { cut: true, ..Reply::answer(text) };
        let same_id = json!({"id": "x", "function": {"name": "ls", "arguments": "{}"}});
        let unique_ids = vec![ToolCall::new("x", "ls", "{}"), ToolCall::new("call_1", "ls", "{}")];
        for (message, reason, expected) in [
            (json!({"content": json_text}), "stop", Reply::answer(json_text)),
            (json!({"content": null, "refusal": "I will not."}), "stop", Reply::answer("I will not.")),
            (json!({"content": "half a"}), "length", cut("half a")),
            (json!({"content": null}), "length", cut("")),
            (
                json!({"tool_calls": [same_id, same_id]}),
                "stop",
                Reply { calls: unique_ids, ..Reply::default() },
            ),
        ] {
            assert_eq!(whole(&message, reason).unwrap(), expected, "{message}");
        }
    }

    #[test]
    fn a_filtered_reply_says_so_and_calls_nothing() {
        let torn = json!({"content": "half", "tool_calls": [{"id": "a", "function": {"name": "ls"}}]});
        let reply = whole(&torn, "content_filter").unwrap();
        assert!(reply.calls.is_empty() && reply.text.starts_with("half\n\n("), "{}", reply.text);
        assert!(whole(&json!({"content": null}), "content_filter").unwrap().text.contains("withheld"));
    }

    #[test]
    fn malformed_replies_are_refused_with_the_reason() {
        for (message, expected) in [
            (json!({}), "the reply has neither text nor tool calls"),
            (json!({"content": " \n"}), "the reply has neither text nor tool calls"),
            (json!({"tool_calls": [{"function": {"name": ".."}}]}), "a tool call has no usable name: \"..\""),
        ] {
            assert_eq!(whole(&message, "stop").unwrap_err(), ReplyError::invalid(expected));
        }
        let mut completion = CompletionBuilder::default();
        assert_eq!(
            completion.add_body(br#"{"choices":[]}"#),
            Err(ReplyError::invalid("the reply has no choice"))
        );
        assert!(matches!(completion.add_event(b"{\"choices\": [{"), Err(ReplyError::Invalid(_))));
    }

    #[test]
    fn a_reply_is_bounded() {
        let mut completion = CompletionBuilder::default();
        let chunk = json!({"choices": [{"delta": {"content": "a".repeat(MAX_REPLY_BYTES)}}]}).to_string();
        assert_eq!(completion.add_event(chunk.as_bytes()), Ok(()));
        assert!(matches!(completion.add_event(chunk.as_bytes()), Err(ReplyError::Invalid(_))));
    }

    #[test]
    fn an_error_inside_a_success_has_a_class() {
        let body = json!({"error": {"code": 429, "message": "wait"}});
        let (class, message) = (ModelErrorClass::RateLimit, "wait".to_owned());
        let refusal = ProviderError { class, message, param: None, wait: None };
        for error in [streamed(std::slice::from_ref(&body)), test_replies::whole::<CompletionBuilder>(&body)]
        {
            assert_eq!(error, Err(ReplyError::Provider(refusal.clone())));
        }
    }
}
