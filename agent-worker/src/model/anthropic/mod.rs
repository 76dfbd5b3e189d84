//! Messages, as Anthropic defined them, with tool use and a prompt cache.
//!
//! Streamed, so that a stalled connection is noticed. The beginning of every request is the same from turn
//! to turn (tools, prompt, all messages but the newest) and is marked so that the provider caches it.

mod reply;
mod request;
mod wire;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::endpoint::{Endpoint, Settings};
use super::{Model, ReplyFuture, Request};
use crate::http::HttpError;
use reply::MessageBuilder;

pub(crate) const DEFAULT_MODEL: &str = "claude-sonnet-4-5";
const VERSION: &str = "2023-06-01";

/// The provider.
#[derive(Debug)]
pub struct Anthropic(Endpoint);

impl Anthropic {
    /// A provider that has sent nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        Ok(Self(Endpoint::new(settings, "messages", sign)?))
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: Request<'_>) -> Value {
        request::body(self.0.settings(), self.0.origin(), request)
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        self.0.model()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(async move {
            let accepted = self.0.send(&self.body(request)).await?;
            self.0.reply::<MessageBuilder>(accepted).await
        })
    }
}

pub(crate) fn sign(request: RequestBuilder, settings: &Settings) -> RequestBuilder {
    let request = request.header("anthropic-version", VERSION);
    match &settings.key {
        Some(key) => request.header("x-api-key", key.expose()),
        None => request,
    }
}
