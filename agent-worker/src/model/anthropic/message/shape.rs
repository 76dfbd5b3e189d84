//! The shapes of a message on the wire: the events of a stream, or a whole body.

use serde::Deserialize;
use serde_json::Value;

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
        usage: Cost,
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
    pub(super) usage: Cost,
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
    pub(super) usage: Cost,
    pub(super) error: Option<Value>,
}

/// What is told twice or more in a stream is told anew each time, and never less.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Cost {
    pub(super) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.max(other.input_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(other.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            self.cache_creation_input_tokens.max(other.cache_creation_input_tokens);
        self.output_tokens = self.output_tokens.max(other.output_tokens);
    }

    /// The protocol counts what was read from the cache, or written to it, beside the rest of the input.
    pub(super) fn taken(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            input_tokens: self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_input_tokens: cached,
            output_tokens: self.output_tokens.unwrap_or(0),
        }
    }
}
