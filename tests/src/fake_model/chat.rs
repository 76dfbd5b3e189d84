//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{Dialect, House, Memory, NAME, Refusal, Said, Usage, pieces};

pub(super) const DIALECT: Dialect = Dialect { whole, events, end: "data: [DONE]\n\n", check };

/// The finish reasons: cut, with calls, and done.
const ENDS: [&str; 3] = ["length", "tool_calls", "stop"];

fn whole(said: &Said) -> Value {
    let calls: Vec<Value> =
        (0..said.calls.len()).map(|index| call(said, index, &said.calls[index].1)).collect();
    let text = Some(&said.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    for (name, value) in reasoning(said) {
        message[name] = value;
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": said.end(ENDS), "logprobs": null});
    completion("chat.completion", &json!([choice]), usage(said))
}

fn events(said: &Said) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(thinking(said));
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

/// The fields for a thought in a whole message.
fn reasoning(said: &Said) -> Vec<(&'static str, Value)> {
    let Some(thought) = &said.thought else { return Vec::new() };
    match said.house {
        House::Lenient => vec![("reasoning", json!(thought))],
        House::DeepSeek | House::DeepSeekR1 => vec![("reasoning_content", json!(thought))],
        House::OpenRouter => {
            let [open, sealed] = details(said);
            vec![("reasoning", json!(thought)), ("reasoning_details", json!([open, sealed]))]
        }
        House::Google | House::OpenAi | House::Unreasoning => Vec::new(),
    }
}

/// OpenRouter's blocks: one to read, one encrypted.
fn details(said: &Said) -> [Value; 2] {
    let format = "anthropic-claude-v1";
    [
        json!({"type": "reasoning.text", "text": said.thought, "signature": said.signature(0),
               "format": format, "index": 0}),
        json!({"type": "reasoning.encrypted", "data": said.signature(1), "format": format, "index": 1}),
    ]
}

/// The same fields in pieces; a signature comes last.
fn thinking(said: &Said) -> Vec<Value> {
    let Some(thought) = &said.thought else { return Vec::new() };
    // Even an empty thought is announced.
    let pieces = if thought.is_empty() { vec![String::new()] } else { pieces(thought) };
    let pieces = pieces.into_iter();
    match said.house {
        House::Lenient => pieces.map(|piece| json!({"reasoning": piece})).collect(),
        House::DeepSeek | House::DeepSeekR1 => {
            pieces.map(|piece| json!({"content": null, "reasoning_content": piece})).collect()
        }
        House::OpenRouter => {
            let [mut open, sealed] = details(said);
            let signature = open["signature"].take();
            let block = |text: String| {
                open["text"] = json!(text);
                json!({"content": "", "reasoning": text, "reasoning_details": [open]})
            };
            let mut deltas: Vec<Value> = pieces.map(block).collect();
            let end = json!({"type": "reasoning.text", "signature": signature, "index": 0});
            deltas.extend([end, sealed].map(|block| json!({"reasoning_details": [block]})));
            deltas
        }
        House::Google | House::OpenAi | House::Unreasoning => Vec::new(),
    }
}

fn check(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    match memory.house {
        House::Lenient | House::Unreasoning => Ok(()),
        House::DeepSeek => check_deepseek(request, memory),
        House::DeepSeekR1 => check_deepseek_r1(request),
        House::OpenRouter => check_openrouter(request, memory),
        House::Google => check_google(request, memory),
        House::OpenAi => check_openai(request),
    }
}

fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().map_or(&[][..], Vec::as_slice)
}

fn is_answer(message: &&Value) -> bool {
    message["role"] == "assistant"
}

fn check_deepseek(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    let answers = messages(request).iter().filter(is_answer);
    let mut with_calls = answers.filter(|message| message.get("tool_calls").is_some());
    match with_calls
        .all(|message| message["reasoning_content"].is_string() && is_as_it_was(message, request, memory))
    {
        true => Ok(()),
        false => Err(Refusal::of_openai(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            None,
        )),
    }
}

fn check_deepseek_r1(request: &Value) -> Result<(), Refusal> {
    match messages(request).iter().any(|message| message.get("reasoning_content").is_some()) {
        true => Err(Refusal::of_openai("reasoning_content is not allowed in the input messages", None)),
        false => Ok(()),
    }
}

fn check_openrouter(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    match messages(request).iter().filter(is_answer).all(|message| is_as_it_was(message, request, memory)) {
        true => Ok(()),
        false => Err(Refusal::of_openai(
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            None,
        )),
    }
}

fn check_google(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    let messages = messages(request);
    let turn = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let mut firsts = messages[turn..].iter().filter(is_answer).map(|message| &message["tool_calls"][0]);
    let signed = |call: &Value| {
        memory
            .signed(&call["extra_content"]["google"]["thought_signature"])
            .is_some_and(|said| request["model"] == said.model)
    };
    match firsts.all(|call| call.is_null() || signed(call)) {
        true => Ok(()),
        false => {
            Err(Refusal::of_google("Function call is missing a thought_signature in functionCall parts."))
        }
    }
}

fn check_openai(request: &Value) -> Result<(), Refusal> {
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    match has_tools && request["reasoning_effort"] != "none" {
        true => Err(Refusal::of_openai(
            "Function tools with reasoning_effort are not supported for fake-1 in \
             /v1/chat/completions. To use function tools, use /v1/responses or \
             set reasoning_effort to 'none'.",
            Some("reasoning_effort"),
        )),
        false => Ok(()),
    }
}

/// Whether a message has the thought that it came with.
fn is_as_it_was(message: &Value, request: &Value, memory: &Memory) -> bool {
    let said = memory.thought_with(&message["tool_calls"][0]["id"], &request["model"]);
    said.is_none_or(|said| reasoning(said).iter().all(|(name, value)| message[name] == *value))
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
    let mut call = json!({"id": said.call_id(index), "type": "function", "function": function});
    if said.house == House::Google && said.thought.is_some() && index == 0 {
        call["extra_content"] = json!({"google": {"thought_signature": said.signature(0)}});
    }
    call
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
