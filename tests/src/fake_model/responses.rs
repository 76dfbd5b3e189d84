//! OpenAI's responses, without storage.

use serde_json::{Value, json};

use super::{Dialect, House, Memory, Refusal, Said, Usage, pieces};

pub(super) const DIALECT: Dialect = Dialect { whole, events, end: "", check };

/// The parameters that a request may have.
const PARAMETERS: [&str; 14] = [
    "model",
    "input",
    "instructions",
    "tools",
    "store",
    "stream",
    "include",
    "reasoning",
    "max_output_tokens",
    "temperature",
    "text",
    "parallel_tool_calls",
    "tool_choice",
    "prompt_cache_key",
];

fn whole(said: &Said) -> Value {
    let (status, details) = match said.is_cut {
        true => ("incomplete", json!({"reason": "max_output_tokens"})),
        false => ("completed", Value::Null),
    };
    let Usage { input, cached, output } = said.usage;
    let usage = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output,
    });
    json!({
        "id": format!("resp_{}", said.number),
        "object": "response",
        "created_at": protocol::now_ms() / 1000,
        "model": said.model,
        "status": status,
        "incomplete_details": details,
        "error": null,
        "output": items(said),
        "store": false,
        "usage": usage,
    })
}

/// A thought comes first, and before each further call.
fn items(said: &Said) -> Vec<Value> {
    let number = said.number;
    let mut items = Vec::new();
    let reasoning = |index: usize| {
        json!({"type": "reasoning", "id": format!("rs_{number}_{index}"), "summary": [],
               "encrypted_content": said.signature(index)})
    };
    let thinks = said.thought.is_some() && said.house != House::Unreasoning;
    if thinks {
        items.push(reasoning(0));
    }
    if !said.text.is_empty() {
        let phase = if said.calls.is_empty() { "final_answer" } else { "commentary" };
        let part = json!({"type": "output_text", "text": said.text, "annotations": [], "logprobs": []});
        items.push(json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
                          "status": "completed", "phase": phase, "content": [part]}));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        if thinks && index > 0 {
            items.push(reasoning(index));
        }
        items.push(
            json!({"type": "function_call", "id": format!("fc_{number}_{index}"), "status": "completed",
                          "call_id": said.call_id(index), "name": name, "arguments": arguments}),
        );
    }
    items
}

fn events(said: &Said) -> Vec<Value> {
    let whole = whole(said);
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (place, item) in items(said).into_iter().enumerate() {
        events.extend(of_item(place, &item));
    }
    let end = if said.is_cut { "response.incomplete" } else { "response.completed" };
    events.push(json!({"type": end, "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn of_item(place: usize, item: &Value) -> Vec<Value> {
    let event = |kind: &str, more: Value| {
        let mut event = json!({"type": format!("response.{kind}"), "output_index": place});
        more.as_object().into_iter().flatten().for_each(|(name, value)| event[name] = value.clone());
        event
    };
    let mut begun = item.clone();
    let mut events = Vec::new();
    match item["type"].as_str() {
        Some("message") => {
            let (id, part) = (&item["id"], &item["content"][0]);
            begun["content"] = json!([]);
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            events
                .push(event("content_part.added", json!({"item_id": id, "content_index": 0, "part": empty})));
            let text = part["text"].as_str().unwrap_or_default();
            let delta = |piece: String| json!({"item_id": id, "content_index": 0, "delta": piece});
            events.extend(pieces(text).into_iter().map(|piece| event("output_text.delta", delta(piece))));
            events.push(event("output_text.done", json!({"item_id": id, "content_index": 0, "text": text})));
            events.push(event("content_part.done", json!({"item_id": id, "content_index": 0, "part": part})));
        }
        Some("function_call") => {
            let (id, arguments) = (&item["id"], item["arguments"].as_str().unwrap_or_default());
            (begun["arguments"], begun["status"]) = (json!(""), json!("in_progress"));
            let delta = |piece: String| {
                event("function_call_arguments.delta", json!({"item_id": id, "delta": piece}))
            };
            events.extend(pieces(arguments).into_iter().map(delta));
            events
                .push(event("function_call_arguments.done", json!({"item_id": id, "arguments": arguments})));
        }
        _ => {}
    }
    events.insert(0, event("output_item.added", json!({"item": begun})));
    events.push(event("output_item.done", json!({"item": item})));
    events
}

fn check(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    if memory.house == House::Unreasoning && !request["include"].is_null() {
        return refuse("include", "Encrypted content is not supported with this model.");
    }
    if request["store"] != false {
        return refuse("store", "The test demands that nothing is stored.");
    }
    if let Some(name) = unknown_field(request, &PARAMETERS) {
        return refuse(name, &format!("Unknown parameter: '{name}'."));
    }
    let format = &request["text"]["format"];
    if format["type"] == "json_schema" && !(format["name"].is_string() && format["schema"].is_object()) {
        return refuse("text", "Missing required parameter: 'text.format.name'.");
    }
    check_tools(request)?;
    let input = request["input"].as_array().map_or(&[][..], Vec::as_slice);
    input.iter().enumerate().try_for_each(|(index, item)| check_item(index, item, input, request, memory))
}

/// Refuses the value of a parameter.
fn refuse(param: &str, message: &str) -> Result<(), Refusal> {
    Err(Refusal::of_openai(message, Some(param)))
}

/// The first field of an object that is not among the known ones.
fn unknown_field<'a>(object: &'a Value, known: &[&str]) -> Option<&'a str> {
    let mut names = object.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.find(|name| !known.contains(name))
}

fn check_tools(request: &Value) -> Result<(), Refusal> {
    for (index, tool) in request["tools"].as_array().into_iter().flatten().enumerate() {
        let required = tool["parameters"]["required"].as_array().map_or(0, Vec::len);
        let properties = tool["parameters"]["properties"].as_object().map_or(0, serde_json::Map::len);
        if !tool["name"].is_string() {
            return refuse("tools", &format!("Missing required parameter: 'tools[{index}].name'."));
        }
        if tool["strict"] != false && required < properties {
            let what =
                "'required' is required to be supplied and to be an array including every key in properties";
            return refuse("tools", &format!("Invalid schema for function {}: {what}.", tool["name"]));
        }
    }
    Ok(())
}

fn check_item(
    index: usize,
    item: &Value,
    input: &[Value],
    request: &Value,
    memory: &Memory,
) -> Result<(), Refusal> {
    let kind = item["type"].as_str().unwrap_or("message");
    let known: &[&str] = match kind {
        "message" => &["type", "role", "content", "id", "status", "phase"],
        "function_call" => &["type", "call_id", "name", "arguments", "id", "status"],
        "function_call_output" => &["type", "call_id", "output", "id", "status"],
        "reasoning" => &["type", "id", "summary", "encrypted_content"],
        _ => return refuse("input", &format!("Invalid value: '{kind}'.")),
    };
    if let Some(name) = unknown_field(item, known) {
        return refuse("input", &format!("Unknown parameter: 'input[{index}].{name}'."));
    }
    check_call(kind, item, input)?;
    if kind == "reasoning" {
        check_reasoning(item, request, memory)?;
    }
    check_pair(index, item, input, memory)
}

/// A call needs its output, and an output its call.
fn check_call(kind: &str, item: &Value, input: &[Value]) -> Result<(), Refusal> {
    let has =
        |kind: &str| input.iter().any(|other| other["type"] == kind && other["call_id"] == item["call_id"]);
    match kind {
        "function_call" if !has("function_call_output") => {
            refuse("input", &format!("No tool output found for function call {}.", item["call_id"]))
        }
        "function_call_output" if !has("function_call") => {
            let id = &item["call_id"];
            refuse("input", &format!("No tool call found for function call output with call_id {id}."))
        }
        _ => Ok(()),
    }
}

/// A reasoning item brings its encrypted content back to the model that it is from.
fn check_reasoning(item: &Value, request: &Value, memory: &Memory) -> Result<(), Refusal> {
    let (id, content) = (&item["id"], &item["encrypted_content"]);
    if content.is_null() {
        let what = "not found. Items are not persisted when `store` is set to false.";
        return refuse("input", &format!("Item with id {id} {what}"));
    }
    if memory.signed(content).is_none_or(|said| request["model"] != said.model) {
        return refuse("input", &format!("The encrypted content for item {id} could not be verified."));
    }
    Ok(())
}

/// A reasoning item and what followed it belong together, by their IDs.
fn check_pair(index: usize, item: &Value, input: &[Value], memory: &Memory) -> Result<(), Refusal> {
    let refuse = |message: String| refuse("input", &message);
    let number = item["id"].as_str().and_then(|id| id.split('_').nth(1)?.parse().ok());
    let Some(said) = number.and_then(|number| memory.reply(number)) else { return Ok(()) };
    let output = items(said);
    let Some(place) = output.iter().position(|other| other["id"] == item["id"]) else { return Ok(()) };
    if *item != output[place] {
        return refuse(format!("Item {} is not as it was.", item["id"]));
    }
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    if item["type"] == "reasoning" && id(input.get(index + 1)) != id(output.get(place + 1)) {
        return refuse(format!(
            "Item {} of type 'reasoning' was provided without its required following item.",
            item["id"]
        ));
    }
    let before =
        place.checked_sub(1).map(|before| &output[before]).filter(|before| before["type"] == "reasoning");
    match before {
        Some(before) if index == 0 || input[index - 1]["id"] != before["id"] => refuse(format!(
            "Item {} of type {} was provided without its required 'reasoning' item: {}.",
            item["id"], item["type"], before["id"]
        )),
        _ => Ok(()),
    }
}
