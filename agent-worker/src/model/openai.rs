//! Chat completions, as OpenAI defined them and vLLM, Ollama, llama.cpp and OpenRouter speak them.
//!
//! Native function calling, one whole answer per request. Servers differ in small ways, and this file
//! takes them as they are: arguments that come as an object instead of a text, calls without an id,
//! content that is absent or null. The shapes of the wire stay in here.

mod wire;

use std::time::Duration;

use process::Secret;
use reqwest::{Client, StatusCode, Url};

use super::{Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request};
use crate::http::{self, Answer, HttpError};

/// The address that OpenAI serves.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The model that is asked when none is named.
pub const DEFAULT_MODEL: &str = "gpt-4.1-mini";

/// A reply arrives whole, so its first byte can take as long as all of it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// More than any model writes in one reply, and as a result it still fits into a line.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The most of a refusal's text that is passed on.
const MAX_DETAIL_CHARS: usize = 300;

/// Where to ask, as whom, for which model.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address up to and including `/v1`.
    pub base_url: Url,
    /// The key; local servers need none.
    pub key: Option<Secret>,
    /// The model's name.
    pub model: String,
}

/// The provider.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    url: String,
    settings: Settings,
}

impl OpenAi {
    /// A provider that has asked nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let url = format!("{}/chat/completions", settings.base_url.as_str().trim_end_matches('/'));
        Ok(Self { client: http::client(TIMEOUT)?, url, settings })
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let mut post = self.client.post(&self.url).json(&wire::body(&self.settings.model, request));
        if let Some(key) = &self.settings.key {
            post = post.bearer_auth(key.expose());
        }
        let sent = async { http::exchange(&self.client, post.build()?, MAX_BODY_BYTES).await };
        let Answer { status, retry_after, body } = sent.await.map_err(|error| self.network(error))?;
        if status.is_success() {
            return wire::reply(&body).map_err(|bad| self.error(ModelErrorClass::InvalidReply, &bad));
        }
        let refusal = wire::refusal(&body);
        let detail = format!("HTTP {}: {}", status.as_u16(), refusal.message);
        let class = if refusal.out_of_money { ModelErrorClass::Auth } else { class(status) };
        Err(ModelError { retry_after, ..self.error(class, &detail) })
    }

    fn network(&self, error: HttpError) -> ModelError {
        match error {
            HttpError::Transport(_) => self.error(ModelErrorClass::Network, &error.to_string()),
            HttpError::TooLong(_) => self.error(ModelErrorClass::InvalidReply, &error.to_string()),
        }
    }

    /// Some servers repeat the key in their refusal.
    fn error(&self, class: ModelErrorClass, detail: &str) -> ModelError {
        let detail = match &self.settings.key {
            Some(key) => detail.replace(key.expose(), "***"),
            None => detail.to_owned(),
        };
        ModelError::new(class, detail.chars().take(MAX_DETAIL_CHARS).collect::<String>())
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.settings.model
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

fn class(status: StatusCode) -> ModelErrorClass {
    match status.as_u16() {
        401..=403 => ModelErrorClass::Auth,
        429 => ModelErrorClass::RateLimit,
        408 | 500..=599 => ModelErrorClass::Overloaded,
        _ => ModelErrorClass::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_its_class() {
        for (status, expected) in [
            (301, ModelErrorClass::BadRequest),
            (400, ModelErrorClass::BadRequest),
            (401, ModelErrorClass::Auth),
            (402, ModelErrorClass::Auth),
            (403, ModelErrorClass::Auth),
            (404, ModelErrorClass::BadRequest),
            (408, ModelErrorClass::Overloaded),
            (429, ModelErrorClass::RateLimit),
            (500, ModelErrorClass::Overloaded),
            (503, ModelErrorClass::Overloaded),
            (529, ModelErrorClass::Overloaded),
        ] {
            assert_eq!(class(StatusCode::from_u16(status).unwrap()), expected, "{status}");
        }
    }

    #[test]
    fn the_key_never_gets_into_an_error() {
        let settings = Settings {
            base_url: DEFAULT_BASE_URL.parse().unwrap(),
            key: Some(Secret::from("sk-secret")),
            model: DEFAULT_MODEL.to_owned(),
        };
        let error = OpenAi::new(settings).unwrap().error(ModelErrorClass::Auth, "bad key sk-secret here");
        assert_eq!(error.detail, "bad key *** here");
    }
}
