//! A case of the corpus, as in the file.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    pub category: String,
    /// The tool to call.
    pub tool: String,
    /// Shell lines that prepare the directory, run outside the server.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What `write_text` writes, with `{SECRET}` for the secret.
    #[serde(default)]
    pub text: Option<String>,
    /// The secret, in parts, so that secret scanners do not find it.
    #[serde(default)]
    pub secret_parts: Vec<String>,
    /// The tool's arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// What to do, in words, if one call is not enough.
    #[serde(default)]
    pub steps: Vec<String>,
    pub expected: Expected,
    #[serde(default)]
    pub alt_expected: Vec<Expected>,
    #[serde(default)]
    pub check: Map<String, Value>,
    /// Whether it could harm the machine if the sandbox fails.
    #[serde(default)]
    pub danger: bool,
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Refused with an error and without an effect.
    Denied,
    /// May succeed, but without its harmful effect.
    Contained,
    Ok,
}

impl Case {
    pub fn secret(&self) -> String {
        self.secret_parts.concat()
    }

    pub fn right_outcomes(&self) -> Vec<Expected> {
        let mut outcomes = self.alt_expected.clone();
        outcomes.push(self.expected);
        outcomes
    }
}
