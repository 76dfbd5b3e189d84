//! Messages, as Anthropic defined them, with tool use and a prompt cache.
//!
//! Streamed, so that a connection that stalls is noticed. The beginning of every request is the same
//! from turn to turn (tools, prompt, all messages but the newest), and it is marked so that the provider
//! keeps it. The shapes of the wire stay in here.

mod reply;
mod request;
mod wire;

use super::endpoint::{Endpoint, ProviderResponse, Settings};
use super::{Model, ModelError, Reply, ReplyFuture, Request};
use crate::http::HttpError;
use reply::MessageBuilder;

/// The address that Anthropic serves.
pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com/v1";

/// The model that is asked when none is named.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// The version of the protocol that is spoken here.
pub const VERSION: &str = "2023-06-01";

/// The provider.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
}

impl Anthropic {
    /// A provider that has asked nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        Ok(Self { endpoint: Endpoint::new(settings, "messages")? })
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let Settings { model, key, .. } = self.endpoint.settings();
        let post =
            self.endpoint.post().header("anthropic-version", VERSION).json(&request::body(model, request));
        let post = match key {
            Some(key) => post.header("x-api-key", key.expose()),
            None => post,
        };
        match self.endpoint.send(post).await? {
            ProviderResponse::Accepted(accepted) => self.endpoint.reply::<MessageBuilder>(accepted).await,
            ProviderResponse::Refused { error, .. } => Err(error),
        }
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.endpoint.settings().model
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}
