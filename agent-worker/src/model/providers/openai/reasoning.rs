//! The reasoning in a completion: collected from its chunks, and put back into the message as it was.
//!
//! Each server has its own fields. They go back under their own names, on messages with calls alone: there
//! they are demanded, and elsewhere ignored or even refused.

use serde_json::{Map, Value, json};

const CONTENT: &str = "reasoning_content";
const TEXT: &str = "reasoning";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
const CALLS: &str = "tool_calls";

/// The fields that servers use: texts of DeepSeek and those like it, and of OpenRouter, Groq and vLLM; a list
/// of blocks of OpenRouter; an object of Google.
#[derive(Default)]
pub(super) struct Collected(Map<String, Value>);

impl Collected {
    /// Adds what a piece of a message has.
    pub(super) fn add(&mut self, content: &Value) {
        for name in [CONTENT, TEXT, EXTRA] {
            extend(&mut self.0, name, content[name].clone());
        }
        if let Some(blocks) = content[DETAILS].as_array() {
            let known = self.0.entry(DETAILS).or_insert_with(|| json!([]));
            blocks.iter().for_each(|block| add_block(known, block.clone()));
        }
    }

    /// All of it, with what belongs to each call; none if there is nothing.
    pub(super) fn finish(mut self, of_calls: Vec<Value>) -> Option<Value> {
        if of_calls.iter().any(|extra| !extra.is_null()) {
            let calls = of_calls.into_iter().map(|extra| json!({EXTRA: extra}));
            self.0.insert(CALLS.to_owned(), calls.collect());
        }
        Some(self.0).filter(|fields| !fields.is_empty()).map(Value::Object)
    }
}

/// Puts the reasoning back into the message that it came with.
pub(super) fn restore(message: &mut Value, reasoning: &Value) {
    for (name, value) in reasoning.as_object().into_iter().flatten() {
        if name != CALLS {
            message[name] = value.clone();
            continue;
        }
        let calls = message[CALLS].as_array_mut().into_iter().flatten();
        for (call, extra) in calls.zip(value.as_array().into_iter().flatten()) {
            if !extra[EXTRA].is_null() {
                call[EXTRA] = extra[EXTRA].clone();
            }
        }
    }
}

/// DeepSeek demands the field with every call, even those of another model or without a thought.
pub(super) fn is_demanded(reasoning: &Value) -> bool {
    reasoning.get(CONTENT).is_some()
}

/// Adds the field, empty, to messages with calls that lack it; false if none does.
pub(super) fn add_empty(messages: &mut Value) -> bool {
    let messages = messages.as_array_mut().into_iter().flatten();
    let mut was_lacking = false;
    for message in messages.filter(|message| message.get(CALLS).is_some() && message.get(CONTENT).is_none()) {
        message[CONTENT] = json!("");
        was_lacking = true;
    }
    was_lacking
}

/// Each chunk extends a text; anything else is replaced.
fn extend(fields: &mut Map<String, Value>, name: &str, value: Value) {
    match (fields.get_mut(name), value) {
        (_, Value::Null) => {}
        (Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
        (_, value) => {
            fields.insert(name.to_owned(), value);
        }
    }
}

/// A streamed block continues in the pieces with its index and type.
fn add_block(blocks: &mut Value, piece: Value) {
    let known = blocks.as_array_mut().and_then(|blocks| {
        let continues = |block: &Value| block["index"] == piece["index"] && block["type"] == piece["type"];
        blocks.last_mut().filter(|block| !piece["index"].is_null() && continues(block))
    });
    let Some(Value::Object(known)) = known else {
        if let Value::Array(blocks) = blocks {
            blocks.push(piece);
        }
        return;
    };
    for (name, value) in piece.as_object().cloned().into_iter().flatten() {
        match name.as_str() {
            "text" | "summary" | "data" => extend(known, &name, value),
            _ if value.is_null() => {}
            _ => {
                known.insert(name, value);
            }
        }
    }
}
