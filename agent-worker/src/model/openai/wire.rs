//! The shapes of a completion on the wire: a chunk of a stream, or a whole body, which has a `message`
//! where a chunk has a `delta`. Whatever is absent or null is empty.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::Usage;

#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) index: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delta: Content,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: Content,
    pub(super) finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) content: Value,
    #[serde(deserialize_with = "or_default")]
    pub(super) refusal: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_calls: Vec<Call>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) function: Function,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// What a reply cost, if it is told: a count that makes no sense must not cost the reply itself.
pub(super) fn cost(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Usage {
        input_tokens: count(&usage["prompt_tokens"]),
        cached_input_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
    }
}

impl Content {
    /// What is said in it: a text, or the texts among its parts.
    pub(super) fn text(&self) -> String {
        let said = match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            _ => String::new(),
        };
        said + &self.refusal
    }
}

/// Null is what several servers write for nothing.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}
