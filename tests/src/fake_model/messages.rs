//! Anthropic's messages.

use serde_json::{Value, json};

use super::{Dialect, NAME, Said, Usage, pieces};

pub(super) const DIALECT: Dialect = Dialect { whole, events, end: "" };

/// The stop reasons: cut, with calls, and done.
const ENDS: [&str; 3] = ["max_tokens", "tool_use", "end_turn"];

fn whole(said: &Said<'_>) -> Value {
    let mut content = Vec::new();
    if !said.text.is_empty() {
        content.push(json!({"type": "text", "text": said.text}));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        content.push(json!({"type": "tool_use", "id": said.call_id(index), "name": name, "input": input}));
    }
    message(&json!(content), json!(said.end(ENDS)), said)
}

fn events(said: &Said<'_>) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "message_start", "message": message(&json!([]), Value::Null, said)})];
    if !said.text.is_empty() {
        let deltas = pieces(said.text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
        events.extend(block(0, &json!({"type": "text", "text": ""}), deltas));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": said.call_id(index), "name": name, "input": {}});
        let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
        events.extend(block(index + 1, &start, pieces(arguments).into_iter().map(delta)));
    }
    let end = json!({"stop_reason": said.end(ENDS), "stop_sequence": null});
    let usage = json!({"output_tokens": said.usage.output});
    events.push(json!({"type": "message_delta", "delta": end, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
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

fn message(content: &Value, stop_reason: Value, said: &Said<'_>) -> Value {
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
fn usage(said: &Said<'_>) -> Value {
    let Usage { input, cached, output } = said.usage;
    let written = (input - cached) / 2;
    json!({
        "input_tokens": input - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    })
}
