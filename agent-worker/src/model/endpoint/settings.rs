//! What a provider on the network is told at the start: where to send requests, with which key, and how
//! long to wait.

use std::time::Duration;

use process::Secret;
use reqwest::{RequestBuilder, Url};

/// The address, key and model of a provider.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address up to and including `/v1`.
    pub base_url: Url,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// The model's name.
    pub model: String,
    /// How long to wait without receiving anything.
    pub timeouts: Timeouts,
}

/// How long a provider may stay silent.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Before the first part of a reply: a slow machine reads a long conversation first.
    pub first_byte: Duration,
    /// After it.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: Duration::from_secs(300), idle: Duration::from_secs(60) }
    }
}

/// Puts the key into a request in the way that a protocol asks for.
pub(crate) type Sign = fn(RequestBuilder, Option<&Secret>) -> RequestBuilder;
