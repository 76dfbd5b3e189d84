//! What a provider on the network needs at the start: where to send requests, with which key, what to put
//! into them, and how long to wait.

use std::time::Duration;

use models::{ExtraBody, ExtraHeaders, Prices};
use process::Secret;
use reqwest::Url;
use serde_json::Value;
use settings::choices::Effort;

use crate::http::Proxy;

/// The domains of Azure's model servers, which take the key in a header of their own.
const AZURE: [&str; 3] = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];

/// The address, key and model of a provider, and what its requests have.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address up to and including `/v1`; a query in it is kept.
    pub base_url: Url,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// The model's name.
    pub model: String,
    /// How long to wait without receiving anything.
    pub timeouts: Timeouts,
    /// The proxy for https addresses; none by default.
    pub proxy: Option<Proxy>,
    /// What the requests have besides the conversation.
    pub options: Options,
}

/// What a model's requests have besides the conversation. Nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The longest reply, in tokens.
    pub max_output_tokens: Option<u64>,
    /// How much the model thinks.
    pub reasoning_effort: Option<Effort>,
    /// How much chance there is in replies.
    pub temperature: Option<f64>,
    /// Whether the model sees images.
    pub vision: bool,
    /// Whether schemas name the arguments in the order of `required`, in which a model writes them.
    pub required_first: bool,
    /// Merged into the body at the end.
    pub extra_body: ExtraBody,
    /// Added to the headers at the end.
    pub extra_headers: ExtraHeaders,
    /// What tokens cost.
    pub prices: Option<Prices>,
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

impl Settings {
    /// A model at an address, with the usual timeouts, no proxy and no options.
    pub fn new(base_url: Url, key: Option<Secret>, model: impl Into<String>) -> Self {
        let (timeouts, options) = (Timeouts::default(), Options::default());
        Self { base_url, key, model: model.into(), timeouts, proxy: None, options }
    }

    /// Whether the server is Azure's: by its name, or by the version that only Azure wants in the address.
    pub(crate) fn is_azure(&self) -> bool {
        let is_named =
            self.base_url.host_str().is_some_and(|host| AZURE.iter().any(|end| host.ends_with(end)));
        is_named || self.base_url.query_pairs().any(|(name, _)| name == "api-version")
    }

    /// The address of a path below the base address, with its query.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let path = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// The base address as people may see it, without a query, a user or a password.
    pub(super) fn shown_address(&self) -> String {
        let mut url = self.base_url.clone();
        url.set_query(None);
        // An address without a host has neither.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// A body with the extra fields in it.
    pub(super) fn completed(&self, body: &Value) -> Value {
        let mut body = body.clone();
        self.options.extra_body.merge_into(&mut body);
        body
    }

    /// A text of the server without the key and the extra headers, which some servers repeat.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let headers = self.options.extra_headers.headers().values().filter_map(|value| value.to_str().ok());
        let secrets = self.key.iter().map(Secret::expose).chain(headers.filter(|value| value.len() > 7));
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}
