//! OpenAI's responses, streamed and stateless: nothing is stored at the provider, so every request carries
//! the whole conversation, and the model's reasoning goes with it, encrypted.
//!
//! A model that does not reason refuses to encrypt, and is asked without.

mod reply;
mod request;

use std::sync::OnceLock;

use serde_json::Value;

use super::endpoint::{Accepted, Endpoint, RequestError, Settings};
use super::{Model, ModelError, Reply, ReplyFuture, Request};
use crate::http::HttpError;
use reply::ResponseBuilder;

pub(crate) const DEFAULT_MODEL: &str = "gpt-5.4-mini";

/// The provider.
#[derive(Debug)]
pub struct Responses {
    endpoint: Endpoint,
    /// Set once the model has refused to encrypt its reasoning.
    has_no_reasoning: OnceLock<()>,
}

impl Responses {
    /// A provider that has sent nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let endpoint = Endpoint::new(settings, "responses", super::openai::sign)?;
        Ok(Self { endpoint, has_no_reasoning: OnceLock::new() })
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: Request<'_>) -> Value {
        request::body(self.endpoint.settings(), self.endpoint.origin(), request)
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let mut body = self.body(request);
        if self.has_no_reasoning.get().is_some() {
            request::remove_include(&mut body);
        }
        let accepted = self.send(&mut body).await?;
        self.endpoint.reply::<ResponseBuilder>(accepted).await
    }

    async fn send(&self, body: &mut Value) -> Result<Accepted, RequestError> {
        match self.endpoint.send(body).await {
            Err(refused) if refused.is_for(request::INCLUDE) => {
                request::remove_include(body);
                let accepted = self.endpoint.send(body).await?;
                self.has_no_reasoning.get_or_init(|| ());
                Ok(accepted)
            }
            end => end,
        }
    }
}

impl Model for Responses {
    fn name(&self) -> &str {
        self.endpoint.model()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}
