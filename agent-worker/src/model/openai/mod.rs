//! Chat completions, as OpenAI defined them and vLLM, Ollama, llama.cpp and OpenRouter speak them.
//!
//! Native function calling, streamed, so that a connection that stalls is noticed. A server that does
//! not stream is taken as it is; one that refuses to be asked for the cost of a stream is asked without.
//! The shapes of the wire stay in here.

mod calls;
mod reply;
mod request;
mod wire;

use std::sync::OnceLock;

use super::endpoint::{Endpoint, ProviderResponse, Settings};
use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};
use crate::http::HttpError;
use reply::CompletionBuilder;

/// The address that OpenAI serves.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The model that is asked when none is named.
pub const DEFAULT_MODEL: &str = "gpt-4.1-mini";

/// The provider.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    /// Whether the server takes `stream_options`; unknown until it has accepted or refused them.
    takes_options: OnceLock<bool>,
}

impl OpenAi {
    /// A provider that has asked nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let endpoint = Endpoint::new(settings, "chat/completions")?;
        Ok(Self { endpoint, takes_options: OnceLock::new() })
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let body = request::body(&self.endpoint.settings().model, request);
        let answer = match self.takes_options.get() {
            Some(true) => self.send(&body).await?,
            Some(false) => self.send(&request::without_stream_options(body)).await?,
            None => self.send_and_learn(body).await?,
        };
        match answer {
            ProviderResponse::Accepted(accepted) => self.endpoint.reply::<CompletionBuilder>(accepted).await,
            ProviderResponse::Refused { error, .. } => Err(error),
        }
    }

    /// Sends the first request. If it is refused and the same without options is not, it was for them.
    async fn send_and_learn(&self, body: serde_json::Value) -> Result<ProviderResponse, ModelError> {
        let answer = self.send(&body).await?;
        let may_be_the_options = match &answer {
            ProviderResponse::Accepted(_) => {
                self.takes_options.get_or_init(|| true);
                false
            }
            ProviderResponse::Refused { status, error } => {
                matches!(status, 400 | 422) && error.class == ModelErrorClass::BadRequest
            }
        };
        if !may_be_the_options {
            return Ok(answer);
        }
        let without = self.send(&request::without_stream_options(body)).await?;
        if matches!(without, ProviderResponse::Refused { .. }) {
            return Ok(answer);
        }
        self.takes_options.get_or_init(|| false);
        Ok(without)
    }

    async fn send(&self, body: &serde_json::Value) -> Result<ProviderResponse, ModelError> {
        let post = self.endpoint.post().json(body);
        let post = match &self.endpoint.settings().key {
            Some(key) => post.bearer_auth(key.expose()),
            None => post,
        };
        self.endpoint.send(post).await
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.endpoint.settings().model
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}
