//! A tool as the catalogue shows it: what `GET /tools` lists and the worker offers to the model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The worst that a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It only reads.
    Low,
    /// It runs a command in the sandbox.
    Medium,
    /// It changes files or reaches beyond this machine.
    High,
}

impl Risk {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What a client may assume about a tool, in the terms of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy existing content.
    pub destructive: bool,
    /// Calling it twice with the same arguments has the effect of calling it once.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
    /// Its output is the operator's instructions: a model gets it without the mark of untrusted content.
    #[serde(default)]
    pub instructions: bool,
}

impl Annotations {
    /// Of a tool that only reads.
    pub const READS: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        instructions: false,
    };

    /// Of a tool that changes files or runs commands.
    pub const ACTS: Self = Self { read_only: false, destructive: true, idempotent: false, ..Self::READS };

    /// Of a tool that sends something to somebody.
    pub const SENDS: Self = Self { destructive: false, open_world: true, ..Self::ACTS };
}

/// One entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The name in `POST /tools/{name}`.
    pub name: String,
    /// What the model reads: when to use the tool and how. The first paragraph stands alone; a small model
    /// gets only that.
    pub description: String,
    /// More about the tool, for people; no model gets it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// The worst that a call can do.
    pub risk: Risk,
    /// What a client may assume.
    pub annotations: Annotations,
    /// JSON Schema (2020-12) of the arguments.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub input_schema: serde_json::Value,
    /// The optional arguments that a small model gets besides the required ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub essential: Vec<String>,
    /// JSON Schema (2020-12) of `meta.data`.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub output_schema: serde_json::Value,
}
