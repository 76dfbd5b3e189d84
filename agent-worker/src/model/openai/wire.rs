//! A completion on the wire: a chunk of a stream, or a whole body, which has a `message` where a chunk has
//! a `delta`. An absent or null field is empty.

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
    #[serde(flatten)]
    pub(super) reasoning: Reasoning,
}

/// The fields that servers use for a model's reasoning.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Reasoning {
    /// DeepSeek, and who follows it: a text.
    pub(super) reasoning_content: Value,
    /// OpenRouter, Groq, vLLM: a text.
    pub(super) reasoning: Value,
    /// OpenRouter: a list of blocks.
    pub(super) reasoning_details: Value,
    /// Google: an object.
    pub(super) extra_content: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) function: Function,
    /// Google puts the signature of its thoughts here.
    pub(super) extra_content: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// The token counts; a malformed count must not fail the reply.
pub(super) fn usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Usage {
        input_tokens: count(&usage["prompt_tokens"]),
        cached_input_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
    }
}

impl Content {
    /// Its text: a string, or the texts among its parts.
    pub(super) fn text(&self) -> String {
        let text = match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            _ => String::new(),
        };
        text + &self.refusal
    }
}

/// Several servers write null for an empty field.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}
