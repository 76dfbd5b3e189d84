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
    pub(super) usage: Value,
    pub(super) error: Option<Value>,
}

/// What a message cost. What is told twice or more in a stream is told anew each time, and never less.
#[derive(Debug, Default)]
pub(super) struct Cost {
    fresh: u64,
    read_from_cache: u64,
    written_to_cache: u64,
    output: u64,
}

impl Cost {
    /// Takes what an event tells; a count that makes no sense must not cost the message itself.
    pub(super) fn add(&mut self, usage: &Value) {
        for (count, name) in [
            (&mut self.fresh, "input_tokens"),
            (&mut self.read_from_cache, "cache_read_input_tokens"),
            (&mut self.written_to_cache, "cache_creation_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *count = (*count).max(usage[name].as_u64().unwrap_or(0));
        }
    }

    /// The protocol counts what was read from the cache, or written to it, beside the rest of the input.
    pub(super) fn taken(&self) -> Usage {
        let input_tokens = self.fresh.saturating_add(self.read_from_cache);
        Usage {
            input_tokens: input_tokens.saturating_add(self.written_to_cache),
            cached_input_tokens: self.read_from_cache,
            output_tokens: self.output,
        }
    }
}
