//! Chat completions, as OpenAI writes them.

use serde_json::{Value, json};

use super::{Dialect, Said, call_id, pieces};

pub(super) const DIALECT: Dialect = Dialect { whole, events, end: "data: [DONE]\n\n" };

fn whole(said: &Said<'_>) -> Value {
    let calls: Vec<Value> = said.calls.iter().enumerate().map(call).collect();
    let text = Some(said.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice =
        json!({"index": 0, "message": message, "finish_reason": finish_reason(said), "logprobs": null});
    completion("chat.completion", &json!([choice]), usage(said))
}

fn events(said: &Said<'_>) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(pieces(said.text).into_iter().map(|piece| json!({"content": piece})));
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let mut first = call((index, &(name.clone(), String::new())));
        first["index"] = json!(index);
        deltas.push(json!({"tool_calls": [first]}));
        let rest = pieces(arguments).into_iter();
        deltas.extend(
            rest.map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    let chunk = |delta: Value, finish_reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": null});
        completion("chat.completion.chunk", &json!([choice]), Value::Null)
    };
    let mut events: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    events.push(chunk(json!({}), json!(finish_reason(said))));
    events.push(completion("chat.completion.chunk", &json!([]), usage(said)));
    events
}

fn completion(object: &str, choices: &Value, usage: Value) -> Value {
    json!({
        "id": "chatcmpl-fake",
        "object": object,
        "created": protocol::now_ms() / 1000,
        "model": "fake",
        "choices": choices,
        "usage": usage,
    })
}

fn call((index, (name, arguments)): (usize, &(String, String))) -> Value {
    json!({"id": call_id(index), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn finish_reason(said: &Said<'_>) -> &'static str {
    match (said.is_cut, said.calls.is_empty()) {
        (true, _) => "length",
        (false, false) => "tool_calls",
        (false, true) => "stop",
    }
}

fn usage(said: &Said<'_>) -> Value {
    let (sent, made) = (said.input_tokens, said.output_tokens);
    json!({"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made})
}
