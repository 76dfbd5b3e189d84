//! Anthropic's messages, OpenAI's responses and Gemini's content, each as one body.

use serde_json::{Value, json};

use super::{NAME, Said, Usage};

fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!({}))
}

/// Half of the input that is not read from the cache is written to it.
pub(super) fn message(said: &Said) -> Value {
    let calls = said.calls.iter().enumerate().map(|(index, (name, text))| {
        json!({"type": "tool_use", "id": said.call_id(index), "name": name, "input": arguments(text)})
    });
    let text = (!said.text.is_empty()).then(|| json!({"type": "text", "text": said.text}));
    let Usage { input, cached, output } = said.usage;
    let written = (input - cached) / 2;
    json!({
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": NAME,
        "content": text.into_iter().chain(calls).collect::<Vec<_>>(),
        "stop_reason": said.end(["max_tokens", "tool_use", "end_turn"]),
        "usage": {
            "input_tokens": input - cached - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "output_tokens": output,
        },
    })
}

pub(super) fn response(said: &Said) -> Value {
    let calls = said.calls.iter().enumerate().map(|(index, (name, arguments))| {
        json!({"type": "function_call", "id": format!("fc_{}_{index}", said.number), "status": "completed",
               "call_id": said.call_id(index), "name": name, "arguments": arguments})
    });
    let text = (!said.text.is_empty()).then(|| {
        json!({"type": "message", "id": format!("msg_{}", said.number), "role": "assistant",
               "status": "completed", "content": [{"type": "output_text", "text": said.text}]})
    });
    let Usage { input, cached, output } = said.usage;
    json!({
        "object": "response",
        "status": if said.is_cut { "incomplete" } else { "completed" },
        "incomplete_details": said.is_cut.then(|| json!({"reason": "max_output_tokens"})),
        "output": text.into_iter().chain(calls).collect::<Vec<_>>(),
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output,
        },
    })
}

pub(super) fn content(said: &Said) -> Value {
    let call =
        |(name, text): &(String, String)| json!({"functionCall": {"name": name, "args": arguments(text)}});
    let text = (!said.text.is_empty()).then(|| json!({"text": said.text}));
    let parts: Vec<Value> = text.into_iter().chain(said.calls.iter().map(call)).collect();
    let Usage { input, cached, output } = said.usage;
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts},
            "finishReason": if said.is_cut { "MAX_TOKENS" } else { "STOP" },
        }],
        "usageMetadata": {
            "promptTokenCount": input,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": output,
        },
    })
}
