//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{NAME, Said, Usage, pieces};

/// The finish reasons: cut, with calls, and done.
const ENDS: [&str; 3] = ["length", "tool_calls", "stop"];

pub(super) fn whole(said: &Said) -> Value {
    let calls: Vec<Value> =
        (0..said.calls.len()).map(|index| call(said, index, &said.calls[index].1)).collect();
    let text = Some(&said.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    if let Some(thought) = &said.thought {
        message["reasoning"] = json!(thought);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": said.end(ENDS), "logprobs": null});
    completion("chat.completion", &json!([choice]), usage(said))
}

pub(super) fn events(said: &Said) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let thought = pieces(said.thought.as_deref().unwrap_or_default()).into_iter();
    deltas.extend(thought.map(|piece| json!({"reasoning": piece})));
    deltas.extend(pieces(&said.text).into_iter().map(|piece| json!({"content": piece})));
    for (index, (_, arguments)) in said.calls.iter().enumerate() {
        let mut first = call(said, index, "");
        first["index"] = json!(index);
        deltas.push(json!({"tool_calls": [first]}));
        let rest = pieces(arguments).into_iter();
        deltas.extend(
            rest.map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    let mut events: Vec<Value> = deltas.iter().map(|delta| chunk(delta, &Value::Null)).collect();
    events.push(chunk(&json!({}), &json!(said.end(ENDS))));
    events.push(completion("chat.completion.chunk", &json!([]), usage(said)));
    events
}

fn chunk(delta: &Value, finish_reason: &Value) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": null});
    completion("chat.completion.chunk", &json!([choice]), Value::Null)
}

fn completion(object: &str, choices: &Value, usage: Value) -> Value {
    json!({
        "id": "chatcmpl-fake",
        "object": object,
        "created": protocol::now_ms() / 1000,
        "model": NAME,
        "choices": choices,
        "usage": usage,
    })
}

fn call(said: &Said, index: usize, arguments: &str) -> Value {
    let function = json!({"name": said.calls[index].0, "arguments": arguments});
    json!({"id": said.call_id(index), "type": "function", "function": function})
}

fn usage(said: &Said) -> Value {
    let Usage { input, cached, output } = said.usage;
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}
