//! The reasoning in a completion: collected from its chunks, and put back into the message as it was.
//!
//! Each server has its own fields. They go back under their own names, on messages with calls alone: there
//! they are demanded, and elsewhere ignored or even refused.

use serde_json::{Map, Value, json};

use super::wire;

const CONTENT: &str = "reasoning_content";
const TEXT: &str = "reasoning";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
const CALLS: &str = "tool_calls";

#[derive(Debug, Default)]
pub(super) struct Collected {
    fields: Map<String, Value>,
    bytes: usize,
}

impl Collected {
    pub(super) fn add(&mut self, piece: wire::Reasoning) {
        let wire::Reasoning { reasoning_content, reasoning, reasoning_details, extra_content } = piece;
        for (name, value) in [(CONTENT, reasoning_content), (TEXT, reasoning), (EXTRA, extra_content)] {
            self.bytes += size(&value);
            extend(&mut self.fields, name, value);
        }
        if let Value::Array(blocks) = reasoning_details {
            self.bytes += blocks.iter().map(size).sum::<usize>();
            let known = self.fields.entry(DETAILS).or_insert_with(|| json!([]));
            blocks.into_iter().for_each(|block| add_block(known, block));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it, with what belongs to each call; none if there is nothing.
    pub(super) fn finish(mut self, of_calls: Vec<Value>) -> Option<Value> {
        if of_calls.iter().any(|extra| !extra.is_null()) {
            let calls = of_calls.into_iter().map(|extra| json!({EXTRA: extra}));
            self.fields.insert(CALLS.to_owned(), calls.collect());
        }
        Some(self.fields).filter(|fields| !fields.is_empty()).map(Value::Object)
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

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(pieces: &[Value], of_calls: Vec<Value>) -> Option<Value> {
        let mut all = Collected::default();
        pieces.iter().for_each(|piece| all.add(serde_json::from_value(piece.clone()).unwrap()));
        all.finish(of_calls)
    }

    #[test]
    fn texts_go_on_and_blocks_are_joined_by_index_and_type() {
        let pieces = [
            json!({"reasoning_content": "I ", "reasoning": "we "}),
            json!({"reasoning_content": "look", "reasoning": null}),
            json!({"reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "a", "signature": null}
            ]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "b"}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
            json!({"reasoning_details": [
                {"type": "reasoning.encrypted", "index": 1, "data": "x"}, {"type": "y"}
            ]}),
        ];
        assert_eq!(
            collected(&pieces, vec![Value::Null]),
            Some(json!({"reasoning_content": "I look", "reasoning": "we ", "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "x"}, {"type": "y"},
            ]}))
        );
        assert_eq!(
            collected(&[json!({"reasoning_content": ""})], Vec::new()).unwrap()["reasoning_content"],
            ""
        );
        assert_eq!(collected(&[json!({"reasoning_content": null})], vec![Value::Null]), None);
    }

    #[test]
    fn it_goes_back_into_the_message_and_its_calls() {
        let google = json!({"google": {"thought_signature": "s"}});
        let reasoning = collected(&[json!({"reasoning": "r"})], vec![Value::Null, google.clone()]).unwrap();
        let mut message = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
        restore(&mut message, &reasoning);
        let calls = json!([{"id": "a"}, {"id": "b", "extra_content": google}]);
        assert_eq!(message, json!({"role": "assistant", "reasoning": "r", "tool_calls": calls}));
    }

    #[test]
    fn only_messages_with_calls_get_the_empty_field() {
        let mut messages = json!([
            {"role": "user"}, {"role": "assistant", "content": "x"}, {"tool_calls": []},
            {"tool_calls": [], "reasoning_content": "r"},
        ]);
        assert!(add_empty(&mut messages) && !add_empty(&mut messages));
        let fields: Vec<_> = messages.as_array().unwrap().iter().map(|it| it.get(CONTENT).cloned()).collect();
        assert_eq!(fields, [None, None, Some(json!("")), Some(json!("r"))]);
    }
}
