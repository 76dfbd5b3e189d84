//! Messages, as Anthropic defined them, with tool use and a prompt cache.
//!
//! The beginning of every request is the same from turn to turn (tools, prompt, all messages but the newest)
//! and is marked so that the provider caches it. The protocol is stricter than our conversation: roles
//! alternate, no text is empty, the results of a message's calls come first in the next message, and every
//! call has a unique ID of a few allowed characters. Messages are adapted to that in a deterministic way, so
//! that the cache holds. Thoughts are no part of a text; they go back unchanged, in their places.

use std::borrow::Cow;
use std::collections::HashSet;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use settings::choices::Words as _;
use toolkit::function_schemas::Format;

use super::turns::Turns;
use crate::model::endpoint::{
    Ending, Found, FoundReasoning, Protocol, ReplyBuilder, ReplyError, ReplyStage, Settings, kind, put, usage,
};
use crate::model::{Message, Origin, Picture, Request, ToolCall};

const VERSION: &str = "2023-06-01";

/// The longest reply where no setting names it: the protocol requires one. Every current model can write as
/// much, and files fit.
const MAX_TOKENS: u64 = 16_000;

/// The longest call ID and tool name that the protocol allows.
const MAX_ID_CHARS: usize = 64;

/// The counts of a usage report.
const INPUT: [&str; 3] = ["/input_tokens", "/cache_read_input_tokens", "/cache_creation_input_tokens"];
const CACHED: &str = "/cache_read_input_tokens";
const OUTPUT: [&str; 1] = ["/output_tokens"];

pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn default_model(&self) -> &'static str {
        "claude-sonnet-4-5"
    }

    fn path(&self, _model: &str) -> String {
        "messages".to_owned()
    }

    fn sign(&self, request: RequestBuilder, settings: &Settings) -> RequestBuilder {
        let request = request.header("anthropic-version", VERSION);
        match &settings.key {
            Some(key) => request.header("x-api-key", key.expose()),
            None => request,
        }
    }

    fn body(&self, settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
        let options = &settings.options;
        let mut body = json!({
            "model": settings.model,
            "max_tokens": options.max_output_tokens.unwrap_or(MAX_TOKENS),
            "stream": true,
            "messages": Messages::of(request.messages, origin, options.vision),
        });
        put(&mut body, &["output_config", "effort"], options.reasoning_effort.map(|effort| effort.word()));
        put(&mut body, &["temperature"], options.temperature);
        if !request.system.trim().is_empty() {
            // The cache mark covers the tools too, because they come before it.
            body["system"] = json!([cached(text_block(request.system))]);
        }
        if !request.tools.is_empty() {
            body["tools"] = Value::Array(Format::Anthropic.tools(request.tools));
        }
        let format = request.schema.map(|schema| json!({"type": "json_schema", "schema": schema.schema}));
        put(&mut body, &["output_config", "format"], format);
        body
    }

    fn reply_builder(&self) -> Box<dyn ReplyBuilder> {
        Box::<MessageBuilder>::default()
    }
}

/// Marks the end of what the provider caches for the next request.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The messages of a request under construction.
struct Messages {
    turns: Turns,
    /// The IDs of all calls, as they are sent.
    ids: HashSet<String>,
    /// The IDs of the newest calls: ours, and as they are sent.
    calls: Vec<(String, String)>,
    /// Whether the model sees images.
    sees: bool,
}

impl Messages {
    fn of(messages: &[Message], origin: &Origin, sees: bool) -> Value {
        let turns = Turns::new(text_block);
        let mut all = Self { turns, ids: HashSet::new(), calls: Vec::new(), sees };
        messages.iter().for_each(|message| all.add(message, origin));
        all.finish()
    }

    fn add(&mut self, message: &Message, origin: &Origin) {
        match message {
            Message::User(text) => self.turns.push_text("user", text),
            Message::Image(image) => {
                let (words, picture) = image.shown(self.sees);
                self.turns.push_text("user", &words);
                if let Some(Picture { media_type, base64, .. }) = picture {
                    let source = json!({"type": "base64", "media_type": media_type, "data": base64});
                    self.turns.push("user", json!({"type": "image", "source": source}));
                }
            }
            Message::Assistant { text, calls, reasoning } => {
                self.calls.clear();
                let ours = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin));
                match ours.and_then(Value::as_array) {
                    Some(blocks) => self.push_blocks(blocks, calls),
                    None => {
                        // A text of the model that ends in whitespace is refused.
                        self.turns.push_text("assistant", text.trim_end());
                        calls.iter().for_each(|call| self.push_call(call));
                    }
                }
            }
            Message::ToolResult { call_id, text } => {
                let known = self.calls.iter().find(|(ours, _)| ours == call_id);
                let id = known.map_or_else(|| sanitized(call_id), |(_, sent)| sent.clone());
                let mut block = json!({"type": "tool_result", "tool_use_id": id});
                put(&mut block, &["content"], Some(text.as_str()).filter(|text| !text.trim().is_empty()));
                self.turns.push("user", block);
            }
        }
    }

    /// A message as the model wrote it, with the calls in their places.
    fn push_blocks(&mut self, blocks: &[Value], calls: &[ToolCall]) {
        let mut calls = calls.iter();
        for block in blocks {
            match kind(block) {
                "text" => self.turns.push_text("assistant", block["text"].as_str().unwrap_or_default()),
                "tool_use" => calls.next().into_iter().for_each(|call| self.push_call(call)),
                _ => self.turns.push("assistant", block.clone()),
            }
        }
        // A call that the model wrote as text has no place of its own.
        calls.for_each(|call| self.push_call(call));
    }

    fn push_call(&mut self, call: &ToolCall) {
        let id = sanitized(&call.id);
        let others = (2..).map(|number| format!("{id}_{number}"));
        let free = std::iter::once(id.clone()).chain(others).find(|id| !self.ids.contains(id));
        let id = free.unwrap_or(id);
        let input = call.arguments_object().unwrap_or_else(|wrapped| wrapped);
        let name = sanitized(&call.name);
        self.turns.push("assistant", json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        self.ids.insert(id.clone());
        self.calls.push((call.id.clone(), id));
    }

    fn finish(mut self) -> Value {
        for blocks in self.turns.parts() {
            blocks.sort_by_key(|block| kind(block) != "tool_result");
        }
        if let Some(newest) = self.turns.parts().next_back().and_then(|blocks| blocks.last_mut()) {
            *newest = cached(newest.take());
        }
        self.turns.finish("content")
    }
}

fn sanitized(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let id: String = text.chars().take(MAX_ID_CHARS).map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if id.is_empty() { "_".to_owned() } else { id }
}

/// A message from the events of a stream or from one body. Unknown events and blocks are skipped, as the
/// protocol asks. The input of a call is joined as text and never parsed.
#[derive(Default)]
struct MessageBuilder {
    blocks: Vec<(u64, Value)>,
    stop_reason: Option<String>,
    /// The highest count of each kind: a stream may repeat them.
    counts: Value,
    is_done: bool,
}

impl ReplyBuilder for MessageBuilder {
    fn add(&mut self, mut event: Value, is_whole: bool) -> Result<(), ReplyError> {
        let index = event["index"].as_u64().unwrap_or_default();
        match kind(&event) {
            _ if is_whole => {
                if let Some(Value::Array(blocks)) = event.get_mut("content").map(Value::take) {
                    (0..).zip(blocks).for_each(|(index, block)| self.begin(index, block));
                }
                self.end(&event["stop_reason"], &event["usage"]);
                self.is_done = true;
            }
            "message_start" => self.end(&Value::Null, &event["message"]["usage"]),
            "content_block_start" => self.begin(index, event["content_block"].take()),
            "content_block_delta" => self.extend(index, &event["delta"]),
            "message_delta" => self.end(&event["delta"]["stop_reason"], &event["usage"]),
            "message_stop" => self.is_done = true,
            _ => {}
        }
        Ok(())
    }

    fn stage(&self) -> ReplyStage {
        let is_said = |block: &Value| match kind(block) {
            "text" => block["text"] != "",
            kind => kind == "tool_use",
        };
        let has_begun = self.blocks.iter().any(|(_, block)| is_said(block));
        ReplyStage::of(has_begun, self.stop_reason.is_some(), self.is_done)
    }

    fn text(&self) -> Cow<'_, str> {
        let texts = self.blocks.iter().filter(|(_, block)| kind(block) == "text");
        texts.filter_map(|(_, block)| block["text"].as_str()).collect()
    }

    fn found(self: Box<Self>) -> Found {
        let ending = match self.stop_reason.as_deref() {
            Some("refusal") => Ending::Filtered,
            // `pause_turn` belongs to the provider's own tools, which we never use: the message is not whole.
            Some("max_tokens" | "model_context_window_exceeded" | "pause_turn") => Ending::Cut,
            Some(_) | None => Ending::Whole,
        };
        let mut found =
            Found { ending, usage: usage(&self.counts, &INPUT, CACHED, &OUTPUT), ..Found::default() };
        let (mut kept, mut has_thoughts) = (Vec::new(), false);
        for (_, block) in self.blocks {
            let field = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            match kind(&block) {
                "text" => {
                    found.text.push_str(&field("text"));
                    kept.push(text_block(&field("text")));
                }
                "tool_use" => {
                    found.calls.push(ToolCall::new(field("id"), field("name"), field("input")));
                    // Only its place: the request writes it from the reply's calls.
                    kept.push(json!({"type": "tool_use"}));
                }
                _ => {
                    has_thoughts = true;
                    kept.push(block);
                }
            }
        }
        if has_thoughts {
            found.reasoning = FoundReasoning::Around(Value::Array(kept));
        }
        found
    }
}

impl MessageBuilder {
    fn begin(&mut self, index: u64, mut block: Value) {
        let texts: &[&str] = match kind(&block) {
            "text" => &["text"],
            "thinking" => &["thinking", "signature"],
            "redacted_thinking" => &[],
            "tool_use" => {
                // Some servers send the whole input at once; the protocol begins with an empty object.
                let is_empty = block["input"].as_object().is_none_or(serde_json::Map::is_empty);
                block["input"] = json!(if is_empty { String::new() } else { block["input"].to_string() });
                &[]
            }
            _ => return,
        };
        for text in texts {
            if block[text].is_null() {
                block[*text] = json!("");
            }
        }
        self.blocks.push((index, block));
    }

    fn extend(&mut self, index: u64, delta: &Value) {
        let (from, to) = match kind(delta) {
            "text_delta" => ("text", "text"),
            "input_json_delta" => ("partial_json", "input"),
            "thinking_delta" => ("thinking", "thinking"),
            "signature_delta" => ("signature", "signature"),
            _ => return,
        };
        let block = self.blocks.iter_mut().rfind(|(of, _)| *of == index);
        if let Some((_, block)) = block
            && let (Some(Value::String(so_far)), Some(more)) = (block.get_mut(to), delta[from].as_str())
        {
            so_far.push_str(more);
        }
    }

    fn end(&mut self, stop_reason: &Value, usage: &Value) {
        self.stop_reason = stop_reason.as_str().map(str::to_owned).or(self.stop_reason.take());
        for (name, count) in usage.as_object().into_iter().flatten() {
            if count.as_u64() > self.counts[name].as_u64() {
                self.counts[name] = count.clone();
            }
        }
    }
}
