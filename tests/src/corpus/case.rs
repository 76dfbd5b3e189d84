//! One case of the corpus, as it stands in the file.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What is tried, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Names the case.
    pub id: String,
    /// What kind of attack it is.
    pub category: String,
    /// The tool that is called; `http` for a request that is given whole.
    pub tool: String,
    /// Shell lines that prepare the place, run outside of the server.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What `write_text` writes, with `{SECRET}` in the place of the secret.
    #[serde(default)]
    pub text: Option<String>,
    /// The secret, in parts so that no scanner sees it whole.
    #[serde(default)]
    pub secret_parts: Vec<String>,
    /// The tool's arguments; of an `http` case, the request.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// What to do, in words, where one call is not enough.
    #[serde(default)]
    pub steps: Vec<String>,
    /// What must come of it.
    pub expected: Expected,
    /// What may come of it as well.
    #[serde(default)]
    pub alt_expected: Vec<Expected>,
    /// What else must be true afterwards.
    #[serde(default)]
    pub check: Map<String, Value>,
    /// Whether it could harm the machine where a sandbox fails.
    #[serde(default)]
    pub danger: bool,
    /// The idea of the attack.
    pub why: String,
}

/// What must come of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Refused with an error and without an effect.
    Denied,
    /// May be answered with success; its effect is stopped.
    Contained,
    /// Must work.
    Ok,
}

impl Case {
    /// The secret, put together.
    pub fn secret(&self) -> String {
        self.secret_parts.concat()
    }

    /// All outcomes that are right.
    pub fn right_outcomes(&self) -> Vec<Expected> {
        let mut outcomes = self.alt_expected.clone();
        outcomes.push(self.expected);
        outcomes
    }
}
