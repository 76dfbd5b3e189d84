//! Anthropic's messages.

use serde_json::{Value, json};

use super::{Dialect, Memory, NAME, Refusal, Said, Usage, pieces};

pub(super) const DIALECT: Dialect = Dialect { whole, events, end: "", check };

/// The stop reasons: cut, with calls, and done.
const ENDS: [&str; 3] = ["max_tokens", "tool_use", "end_turn"];

fn whole(said: &Said) -> Value {
    message(&json!(content(said)), json!(said.end(ENDS)), said)
}

/// The blocks of a message. A thought leads, with one that is hidden; another comes before each further call.
fn content(said: &Said) -> Vec<Value> {
    let mut content = Vec::new();
    if let Some(thought) = &said.thought {
        content.push(json!({"type": "thinking", "thinking": thought, "signature": said.signature(0)}));
        content.push(json!({"type": "redacted_thinking", "data": said.signature(1)}));
    }
    if !said.text.is_empty() {
        content.push(json!({"type": "text", "text": said.text}));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        if let (Some(_), 1..) = (&said.thought, index) {
            let signature = said.signature(index + 1);
            content.push(json!({"type": "thinking", "thinking": "", "signature": signature}));
        }
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        content.push(json!({"type": "tool_use", "id": said.call_id(index), "name": name, "input": input}));
    }
    content
}

fn events(said: &Said) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "message_start", "message": message(&json!([]), Value::Null, said)})];
    let mut arguments = said.calls.iter().map(|(_, arguments)| arguments);
    for (index, mut start) in content(said).into_iter().enumerate() {
        let deltas: Vec<Value> = match start["type"].as_str() {
            Some("text") => streamed(&mut start, "text", "text_delta"),
            Some("thinking") => {
                let mut deltas = streamed(&mut start, "thinking", "thinking_delta");
                deltas.extend(streamed(&mut start, "signature", "signature_delta"));
                deltas
            }
            Some("tool_use") => {
                start["input"] = json!({});
                let pieces = arguments.next().map(|arguments| pieces(arguments)).unwrap_or_default();
                let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
                pieces.into_iter().map(delta).collect()
            }
            _ => Vec::new(),
        };
        events.extend(block(index, &start, deltas.into_iter()));
    }
    let end = json!({"stop_reason": said.end(ENDS), "stop_sequence": null});
    let usage = json!({"output_tokens": said.usage.output});
    events.push(json!({"type": "message_delta", "delta": end, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A field of a block as deltas; a block begins with it empty.
fn streamed(start: &mut Value, field: &str, kind: &str) -> Vec<Value> {
    let text = start[field].as_str().unwrap_or_default().to_owned();
    start[field] = json!("");
    pieces(&text).into_iter().map(|piece| json!({"type": kind, field: piece})).collect()
}

fn check(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant")
    {
        let mut blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.iter_mut().filter_map(Value::as_object_mut).for_each(|block| {
            block.remove("cache_control");
        });
        let foreign = blocks.iter().position(|block| {
            let signature = if block["type"] == "thinking" { &block["signature"] } else { &block["data"] };
            !signature.is_null() && memory.signed(signature).is_none_or(|said| request["model"] != said.model)
        });
        if let Some(block) = foreign {
            let what = format!("messages.{index}.content.{block}: Invalid `signature` in `thinking` block");
            return Err(Refusal::of_anthropic(&what));
        }
        let call = blocks.iter().find(|block| block["type"] == "tool_use");
        let said = call.and_then(|call| memory.thought_with(&call["id"], &request["model"]));
        match said {
            Some(_) if !matches!(blocks[0]["type"].as_str(), Some("thinking" | "redacted_thinking")) => {
                let what = format!(
                    "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, \
                     but found {}. \
                     When `thinking` is enabled, a final `assistant` message must \
                     start with a thinking block",
                    blocks[0]["type"]
                );
                return Err(Refusal::of_anthropic(&what));
            }
            Some(said) if blocks != content(said) => {
                let what = format!(
                    "messages.{index}.content: `thinking` or `redacted_thinking` blocks in the latest \
                     assistant \
                     message cannot be modified. These blocks must remain as they were \
                     in the original response."
                );
                return Err(Refusal::of_anthropic(&what));
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn block(index: usize, start: &Value, deltas: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "content_block_start", "index": index, "content_block": start}),
        json!({"type": "ping"}),
    ];
    events.extend(deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn message(content: &Value, stop_reason: Value, said: &Said) -> Value {
    json!({
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": NAME,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage(said),
    })
}

/// Half of the input that is not read from the cache is written to it.
fn usage(said: &Said) -> Value {
    let Usage { input, cached, output } = said.usage;
    let written = (input - cached) / 2;
    json!({
        "input_tokens": input - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    })
}
