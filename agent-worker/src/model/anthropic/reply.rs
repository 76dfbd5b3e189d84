//! Builds a message from the events of a stream or from one body.
//!
//! Unknown events and blocks are skipped, as the protocol asks. The model's thoughts are no part of the text;
//! they are kept with their place among the other blocks. The input of a call is joined as text and never
//! parsed.

use serde_json::{Map, Value, json};

use crate::model::endpoint::{
    ProviderError, ReplyBuilder, ReplyError, ReplyStage, check_content, check_size,
};
use crate::model::{Origin, Reasoning, Reply, ToolCall};

use super::wire::{Block, Body, Delta, Event, Tokens};

#[derive(Debug, Default)]
pub(super) struct MessageBuilder {
    blocks: Vec<(u64, Part)>,
    bytes: usize,
    thought_bytes: usize,
    stop_reason: Option<String>,
    tokens: Tokens,
    is_done: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Call { id: String, name: String, input: String },
    Thought { thinking: String, signature: String, rest: Map<String, Value> },
    Redacted(Map<String, Value>),
}

impl ReplyBuilder for MessageBuilder {
    fn add_event(&mut self, data: &[u8]) -> Result<(), ReplyError> {
        let event: Event = serde_json::from_slice(data).map_err(ReplyError::invalid)?;
        match event {
            Event::MessageStart { message } => self.tokens.add(&message.usage),
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block),
            Event::ContentBlockDelta { index, delta } => self.extend(index, &delta),
            Event::MessageDelta { delta, usage } => {
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                self.tokens.add(&usage);
            }
            Event::MessageStop => self.is_done = true,
            Event::Error { error } => return Err(ReplyError::Provider(ProviderError::in_reply(&error))),
            Event::Other => {}
        }
        self.check_size()
    }

    fn add_body(&mut self, body: &[u8]) -> Result<(), ReplyError> {
        let body: Body = serde_json::from_slice(body).map_err(ReplyError::invalid)?;
        if let Some(error) = body.error {
            return Err(ReplyError::Provider(ProviderError::in_reply(&error)));
        }
        for (index, block) in (0..).zip(body.content) {
            self.begin(index, block);
        }
        self.tokens.add(&body.usage);
        self.stop_reason = body.stop_reason;
        self.is_done = true;
        self.check_size()
    }

    fn stage(&self) -> ReplyStage {
        ReplyStage::of(self.bytes, self.stop_reason.is_some(), self.is_done)
    }

    fn finish(self, origin: &Origin) -> Result<Reply, ReplyError> {
        let usage = self.tokens.usage();
        let thoughts = thoughts(&self.blocks);
        let (text, calls) = parts(self.blocks)?;
        let reason = self.stop_reason.as_deref();
        let mut reply = match reason {
            Some("refusal") => Reply::filtered(text),
            _ => Reply { text, calls, ..Reply::default() },
        };
        reply.reasoning = thoughts.map(|content| Reasoning::around(&reply, origin, content));
        // `pause_turn` belongs to the provider's own tools, which we never use: the message is not complete.
        let cut = matches!(reason, Some("max_tokens" | "model_context_window_exceeded" | "pause_turn"));
        check_content(Reply { cut, usage, ..reply })
    }
}

impl MessageBuilder {
    fn begin(&mut self, index: u64, block: Block) {
        let part = match block {
            Block::Text { text } => Part::Text(text),
            Block::ToolUse { id, name, input } => {
                let is_empty = input.as_object().is_none_or(serde_json::Map::is_empty);
                // Some servers send the whole input at once; the protocol begins with an empty object.
                let input = if is_empty { String::new() } else { input.to_string() };
                Part::Call { id, name, input }
            }
            Block::Thinking { thinking, signature, rest } => Part::Thought { thinking, signature, rest },
            Block::RedactedThinking { rest } => Part::Redacted(rest),
            Block::Other => return,
        };
        // Each call counts for something, so that even a flood of empty ones is bounded.
        self.bytes += match &part {
            Part::Text(text) => text.len(),
            Part::Call { id, name, input } => id.len() + name.len() + input.len() + 1,
            Part::Thought { thinking, signature, rest } => {
                self.thought_bytes += thinking.len() + signature.len() + json!(rest).to_string().len();
                0
            }
            Part::Redacted(rest) => {
                self.thought_bytes += json!(rest).to_string().len();
                0
            }
        };
        self.blocks.push((index, part));
    }

    fn extend(&mut self, index: u64, delta: &Delta) {
        let part = self.blocks.iter_mut().rfind(|(of, _)| *of == index).map(|(_, part)| part);
        let (so_far, more) = match (part, delta) {
            (Some(Part::Text(so_far)), Delta::Text { text }) => (so_far, text),
            (Some(Part::Call { input, .. }), Delta::Input { partial_json }) => (input, partial_json),
            (Some(Part::Thought { thinking: so_far, .. }), Delta::Thinking { thinking: more })
            | (Some(Part::Thought { signature: so_far, .. }), Delta::Signature { signature: more }) => {
                so_far.push_str(more);
                self.thought_bytes += more.len();
                return;
            }
            _ => return,
        };
        so_far.push_str(more);
        self.bytes += more.len();
    }

    fn check_size(&self) -> Result<(), ReplyError> {
        check_size(self.bytes + self.thought_bytes + self.blocks.len())
    }
}

/// All blocks in their order, if there are thoughts among them. A call is only its place: the request writes
/// it from the reply's calls.
fn thoughts(blocks: &[(u64, Part)]) -> Option<Value> {
    let is_thought = |part: &Part| matches!(part, Part::Thought { .. } | Part::Redacted(_));
    let block = |(_, part): &(u64, Part)| match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call { .. } => json!({"type": "tool_use"}),
        Part::Thought { thinking, signature, rest } => {
            let mut block = json!({"type": "thinking", "thinking": thinking, "signature": signature});
            rest.iter().for_each(|(name, value)| block[name] = value.clone());
            block
        }
        Part::Redacted(rest) => {
            let mut block = json!({"type": "redacted_thinking"});
            rest.iter().for_each(|(name, value)| block[name] = value.clone());
            block
        }
    };
    blocks.iter().any(|(_, part)| is_thought(part)).then(|| blocks.iter().map(block).collect())
}

fn parts(blocks: Vec<(u64, Part)>) -> Result<(String, Vec<ToolCall>), ReplyError> {
    let (mut said, mut calls) = (String::new(), Vec::new());
    for (_, part) in blocks {
        match part {
            Part::Text(text) => said.push_str(&text),
            Part::Thought { .. } | Part::Redacted(_) => {}
            Part::Call { name, .. } if name.trim().is_empty() => {
                return Err(ReplyError::invalid("a tool call has no name"));
            }
            Part::Call { id, name, input } => {
                let arguments = if input.trim().is_empty() { "{}".to_owned() } else { input };
                let id = if id.is_empty() { format!("call_{}", calls.len()) } else { id };
                calls.push(ToolCall { id, name, arguments });
            }
        }
    }
    Ok((said, calls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::endpoint::{MAX_REPLY_BYTES, test_replies};
    use crate::model::{ModelErrorClass, Usage};

    fn whole(content: &Value, stop_reason: &str) -> Result<Reply, ReplyError> {
        let body = json!({"type": "message", "content": content, "stop_reason": stop_reason});
        test_replies::whole::<MessageBuilder>(&body)
    }

    fn delta(index: u64, delta: &Value) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn start(index: u64, block: &Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn stop(reason: &str) -> [Value; 2] {
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        [
            json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}),
            json!({"type": "message_stop"}),
        ]
    }

    #[test]
    fn text_calls_and_usage_are_joined_and_thoughts_kept_apart() {
        let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 50,
                           "cache_creation_input_tokens": 20, "output_tokens": 1});
        let mut events = vec![
            json!({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}}),
            start(0, &json!({"type": "thinking", "thinking": "", "signature": "", "new": 1})),
            delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, &json!({"type": "signature_delta", "signature": "x"})),
            json!({"type": "ping"}),
            start(1, &json!({"type": "text", "text": ""})),
            delta(1, &json!({"type": "text_delta", "text": "I "})),
            delta(1, &json!({"type": "text_delta", "text": "look."})),
            json!({"type": "content_block_stop", "index": 1}),
            start(2, &json!({"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}})),
            delta(2, &json!({"type": "input_json_delta", "partial_json": ""})),
            delta(2, &json!({"type": "input_json_delta", "partial_json": "{\"path\": "})),
            start(3, &json!({"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {}})),
            delta(2, &json!({"type": "input_json_delta", "partial_json": "\".\""})),
            json!({"type": "from_the_future", "x": 1}),
        ];
        events.extend(stop("tool_use"));
        let calls =
            vec![ToolCall::new("toolu_1", "ls", "{\"path\": \".\""), ToolCall::new("toolu_2", "bash", "{}")];
        let usage = Usage { input_tokens: 73, cached_input_tokens: 50, output_tokens: 7 };
        let mut reply = test_replies::streamed::<MessageBuilder>(&events).unwrap();
        let thoughts = reply.reasoning.take().unwrap();
        assert_eq!(
            thoughts.content_for(&test_replies::origin()),
            Some(&json!([
                {"type": "thinking", "thinking": "hm", "signature": "x", "new": 1},
                {"type": "text", "text": "I look."},
                {"type": "tool_use"},
                {"type": "tool_use"},
            ]))
        );
        assert_eq!(reply, Reply { text: "I look.".into(), calls, usage, ..Reply::default() });
    }

    #[test]
    fn a_message_can_arrive_in_one_body() {
        let content = json!([
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "i", "name": "ls", "input": {"b": 1}},
        ]);
        let reply = whole(&content, "tool_use").unwrap();
        assert_eq!((reply.text.as_str(), reply.calls), ("a", vec![ToolCall::new("i", "ls", "{\"b\":1}")]));
    }

    #[test]
    fn the_stop_reason_decides_what_a_reply_is() {
        let text = json!([{"type": "text", "text": "half"}]);
        for (reason, cut) in [
            ("end_turn", false),
            ("stop_sequence", false),
            ("max_tokens", true),
            ("model_context_window_exceeded", true),
            ("pause_turn", true),
        ] {
            assert_eq!(whole(&text, reason).unwrap(), Reply { cut, ..Reply::answer("half") }, "{reason}");
        }
        assert!(whole(&text, "refusal").unwrap().text.starts_with("half\n\n("));
        assert!(whole(&json!([]), "refusal").unwrap().text.contains("withheld"));
        assert!(whole(&json!([]), "max_tokens").unwrap().cut);
        assert!(matches!(whole(&json!([]), "end_turn"), Err(ReplyError::Invalid(_))));
    }

    #[test]
    fn a_reply_goes_from_awaited_to_ended() {
        let text = start(0, &json!({"type": "text", "text": ""}));
        let more = delta(0, &json!({"type": "text_delta", "text": "a"}));
        let [end, ended] = stop("end_turn");
        test_replies::check_stages::<MessageBuilder>([text, more, end, ended].map(|event| event.to_string()));
    }

    #[test]
    fn an_error_has_a_class_wherever_it_arrives() {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let mut message = MessageBuilder::default();
        for result in
            [message.add_event(error.to_string().as_bytes()), message.add_body(error.to_string().as_bytes())]
        {
            let Err(ReplyError::Provider(refusal)) = result else { panic!("no provider error: {result:?}") };
            assert_eq!(refusal.class, ModelErrorClass::Overloaded);
        }
    }

    #[test]
    fn malformed_messages_are_refused_with_the_reason() {
        assert!(matches!(MessageBuilder::default().add_event(b"{\"type\":"), Err(ReplyError::Invalid(_))));
        let nameless = json!([{"type": "tool_use", "id": "i", "name": " ", "input": {}}]);
        assert_eq!(whole(&nameless, "tool_use"), Err(ReplyError::invalid("a tool call has no name")));
        let long = json!([{"type": "text", "text": "a".repeat(MAX_REPLY_BYTES + 1)}]);
        assert!(matches!(whole(&long, "end_turn"), Err(ReplyError::Invalid(_))));
    }
}
