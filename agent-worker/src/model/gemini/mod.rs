//! Gemini's own protocol: `generateContent`, streamed.
//!
//! Its server takes no field that it does not know. A thinking model signs the parts of its reply, and wants
//! each signature back in the part that it came with.

mod reply;
mod request;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::endpoint::{Endpoint, Settings};
use super::{Model, ReplyFuture, Request};
use crate::http::HttpError;
use reply::ContentBuilder;

pub(crate) const DEFAULT_MODEL: &str = "gemini-flash-latest";

/// The provider.
#[derive(Debug)]
pub struct Gemini(Endpoint);

impl Gemini {
    /// A provider that has sent nothing yet.
    pub fn new(mut settings: Settings) -> Result<Self, HttpError> {
        // The list of models has names with a folder; a tuned model is in another one.
        let folder = if settings.model.contains('/') { "" } else { "models/" };
        let path = format!("{folder}{}:streamGenerateContent", settings.model);
        settings.base_url.query_pairs_mut().append_pair("alt", "sse");
        Ok(Self(Endpoint::new(settings, &path, sign)?))
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: Request<'_>) -> Value {
        request::body(self.0.settings(), self.0.origin(), request)
    }
}

impl Model for Gemini {
    fn name(&self) -> &str {
        self.0.model()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(async move {
            let accepted = self.0.send(&self.body(request)).await?;
            self.0.reply::<ContentBuilder>(accepted).await
        })
    }
}

pub(crate) fn sign(request: RequestBuilder, settings: &Settings) -> RequestBuilder {
    match &settings.key {
        Some(key) => request.header("x-goog-api-key", key.expose()),
        None => request,
    }
}
