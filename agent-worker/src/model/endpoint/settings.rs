//! What a provider on the network is told at the start: where to ask, as whom, and how long to wait.

use std::time::Duration;

use process::Secret;
use reqwest::Url;

/// Where to ask, as whom, for which model.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address up to and including `/v1`.
    pub base_url: Url,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// The model's name.
    pub model: String,
    /// How long to wait without hearing anything.
    pub patience: Patience,
}

/// How long a provider may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Before the first piece of a reply: a slow machine reads a long conversation first.
    pub first: Duration,
    /// After it.
    pub next: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_secs(300), next: Duration::from_secs(60) }
    }
}
