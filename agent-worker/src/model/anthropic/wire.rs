//! A message on the wire: the events of a stream, or a whole body.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::Usage;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: Value,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct Start {
    #[serde(default)]
    pub(super) usage: Value,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
        #[serde(flatten)]
        rest: Map<String, Value>,
    },
    RedactedThinking {
        #[serde(flatten)]
        rest: Map<String, Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct End {
    pub(super) stop_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    pub(super) content: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) usage: Value,
    pub(super) error: Option<Value>,
}

/// The token counts of a message. A stream may repeat a count, which then never gets smaller.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    uncached: u64,
    read_from_cache: u64,
    written_to_cache: u64,
    output: u64,
}

impl Tokens {
    /// Adds the counts of an event; a malformed count must not fail the message.
    pub(super) fn add(&mut self, usage: &Value) {
        for (count, name) in [
            (&mut self.uncached, "input_tokens"),
            (&mut self.read_from_cache, "cache_read_input_tokens"),
            (&mut self.written_to_cache, "cache_creation_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *count = (*count).max(usage[name].as_u64().unwrap_or(0));
        }
    }

    /// The protocol counts input that was read from the cache or written to it separately.
    pub(super) fn usage(&self) -> Usage {
        let input_tokens = self.uncached.saturating_add(self.read_from_cache);
        Usage {
            input_tokens: input_tokens.saturating_add(self.written_to_cache),
            cached_input_tokens: self.read_from_cache,
            output_tokens: self.output,
        }
    }
}
