//! Chat completions, as OpenAI defined them and vLLM, Ollama, llama.cpp and OpenRouter speak them.
//!
//! Native function calling, streamed, so that a stalled connection is noticed. A server that does not
//! stream works too, and one that refuses `stream_options` is asked without them.

mod calls;
mod reply;
mod request;
mod wire;

use std::sync::OnceLock;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::endpoint::{Accepted, Endpoint, RequestError, Settings};
use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};
use crate::http::HttpError;
use reply::CompletionBuilder;

pub(crate) const DEFAULT_MODEL: &str = "gpt-4.1-mini";

/// The provider.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    /// Whether the server accepts `stream_options`; unknown until it has accepted or refused them.
    accepts_options: OnceLock<bool>,
}

impl OpenAi {
    /// A provider that has sent nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let endpoint = Endpoint::new(settings, "chat/completions", sign)?;
        Ok(Self { endpoint, accepts_options: OnceLock::new() })
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let body = request::body(self.endpoint.settings(), request);
        let accepted = match self.accepts_options.get() {
            Some(true) => self.endpoint.send(&body).await?,
            Some(false) => self.endpoint.send(&request::without_stream_options(body)).await?,
            None => self.send_and_learn(body).await?,
        };
        self.endpoint.reply::<CompletionBuilder>(accepted).await
    }

    /// Sends the first request. If only the same without options succeeds, it was refused for them.
    async fn send_and_learn(&self, body: Value) -> Result<Accepted, RequestError> {
        let refused = match self.endpoint.send(&body).await {
            Ok(accepted) => {
                self.accepts_options.get_or_init(|| true);
                return Ok(accepted);
            }
            Err(refused) => refused,
        };
        let may_be_the_options = matches!(refused.status, Some(400 | 422));
        if !may_be_the_options || refused.error.class != ModelErrorClass::BadRequest {
            return Err(refused);
        }
        match self.endpoint.send(&request::without_stream_options(body)).await {
            Ok(accepted) => {
                self.accepts_options.get_or_init(|| false);
                Ok(accepted)
            }
            Err(error) if error.status.is_some() => Err(refused),
            Err(error) => Err(error),
        }
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        self.endpoint.model()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

pub(crate) fn sign(request: RequestBuilder, settings: &Settings) -> RequestBuilder {
    match &settings.key {
        Some(key) if settings.is_azure() => request.header("api-key", key.expose()),
        Some(key) => request.bearer_auth(key.expose()),
        None => request,
    }
}
