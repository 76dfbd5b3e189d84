//! The one hand that asks a provider over HTTP, whatever is said: it sends, waits with patience, bounds
//! what comes, and keeps the key out of every error.
//!
//! A model may think for minutes before the first piece of a reply, and never for long after it; so
//! there are two patiences, and no bound on the whole: the task's own wall time drops the request.
//! It reads nothing of a reply itself: that is each provider's [`ReplyBuilder`].

mod body_reader;
mod provider_error;
mod reply_builder;
mod settings;
mod sse;

use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use tokio::time::timeout;

use super::{ModelError, ModelErrorClass, Reply};
use crate::http::{self, HttpError};

use body_reader::{BodyError, BodyReader};
pub(super) use provider_error::ProviderError;
pub(super) use reply_builder::{MAX_REPLY_BYTES, ReplyBuilder, ReplyError, ReplyStage};
pub use settings::{Settings, Timeouts};

/// The most of a refusal that is read, and the most of it that is passed on.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
const MAX_DETAIL_CHARS: usize = 300;

/// How long the end of a stream is waited for when the reply itself is there.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A provider's address.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: String,
    settings: Settings,
}

/// What a provider answered.
pub(super) enum ProviderResponse {
    /// Something that is a reply, or becomes one.
    Accepted(Accepted),
    /// A status that is no success.
    Refused {
        /// The status.
        status: u16,
        /// What it means, and how long to wait.
        error: ModelError,
    },
}

/// The body of a success, of which the beginning was looked at.
pub(super) struct Accepted {
    incoming: BodyReader,
    beginning: Vec<u8>,
}

impl Endpoint {
    /// The endpoint at a path below the base address. Nothing is sent yet.
    pub(super) fn new(settings: Settings, path: &str) -> Result<Self, HttpError> {
        let url = format!("{}/{path}", settings.base_url.as_str().trim_end_matches('/'));
        Ok(Self { client: http::client_without_timeout()?, url, settings })
    }

    /// Where to ask, as whom, for which model.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A request to this endpoint, to be filled.
    pub(super) fn post(&self) -> RequestBuilder {
        self.client.post(&self.url)
    }

    /// Sends a request and waits for the beginning of the answer.
    pub(super) async fn send(&self, post: RequestBuilder) -> Result<ProviderResponse, ModelError> {
        let request = post.build().map_err(|error| self.transport(error))?;
        let first = self.settings.timeouts.first_byte;
        let response = timeout(first, self.client.execute(request)).await;
        let response = response.map_err(|_| self.broken(BodyError::Timeout(first)))?;
        let response = response.map_err(|error| self.transport(error))?;
        let status = response.status();
        let retry_after = http::retry_after(response.headers());
        let mut incoming = BodyReader::of(response);
        if status.is_success() {
            let beginning = incoming.beginning(first).await.map_err(|broken| self.broken(broken))?;
            return Ok(ProviderResponse::Accepted(Accepted { incoming, beginning }));
        }
        let body = incoming.as_it_comes(MAX_REFUSAL_BYTES, CLOSE_TIMEOUT).await;
        let ProviderError { class, message } = ProviderError::of_status(status.as_u16(), &body);
        let error = self.error(class, &format!("HTTP {}: {message}", status.as_u16()));
        Ok(ProviderResponse::Refused { status: status.as_u16(), error: ModelError { retry_after, ..error } })
    }

    /// Reads a reply to its end, whether it comes as a stream or as one body.
    pub(super) async fn reply<A: ReplyBuilder>(&self, answer: Accepted) -> Result<Reply, ModelError> {
        let Accepted { mut incoming, beginning } = answer;
        let mut assembly = A::default();
        if beginning.first() == Some(&b'{') {
            let body = incoming.rest(beginning, self.settings.timeouts.idle).await;
            let body = body.map_err(|broken| self.broken(broken))?;
            assembly.whole(&body).map_err(|why| self.no_reply(why))?;
        } else {
            self.stream(incoming, beginning, &mut assembly).await?;
        }
        assembly.reply().map_err(|why| self.no_reply(why))
    }

    async fn stream(
        &self,
        mut incoming: BodyReader,
        beginning: Vec<u8>,
        assembly: &mut impl ReplyBuilder,
    ) -> Result<(), ModelError> {
        let mut parser = sse::Parser::default();
        let mut bytes = Some(beginning);
        let mut has_events = false;
        loop {
            match &bytes {
                Some(bytes) => parser.push(bytes).map_err(|long| self.invalid(&long.to_string()))?,
                None => parser.end(),
            }
            while let Some(data) = parser.next() {
                has_events = true;
                assembly.event(&data).map_err(|why| self.no_reply(why))?;
            }
            match (assembly.stage(), bytes.is_none()) {
                (ReplyStage::Ended, _) | (ReplyStage::Complete, true) => return Ok(()),
                (ReplyStage::Pending | ReplyStage::Started, true) => return Err(self.torn(has_events)),
                (ReplyStage::Pending | ReplyStage::Started | ReplyStage::Complete, false) => {}
            }
            bytes = match incoming.next(self.idle_timeout(assembly.stage())).await {
                Ok(bytes) => bytes,
                // What is missing says only what the reply cost.
                Err(_) if assembly.stage() == ReplyStage::Complete => return Ok(()),
                Err(broken) => return Err(self.broken(broken)),
            };
        }
    }

    fn idle_timeout(&self, stage: ReplyStage) -> Duration {
        match stage {
            ReplyStage::Pending => self.settings.timeouts.first_byte,
            ReplyStage::Started => self.settings.timeouts.idle,
            ReplyStage::Complete | ReplyStage::Ended => CLOSE_TIMEOUT.min(self.settings.timeouts.idle),
        }
    }

    fn broken(&self, broken: BodyError) -> ModelError {
        match broken {
            BodyError::Timeout(patience) => {
                let detail = format!("nothing came for {} seconds", patience.as_secs_f32());
                self.error(ModelErrorClass::Stalled, &detail)
            }
            BodyError::Transport(error) => self.transport(error),
            BodyError::TooLong => self.invalid("the answer is longer than any reply"),
        }
    }

    fn torn(&self, has_events: bool) -> ModelError {
        if has_events {
            return self.error(ModelErrorClass::Network, "the answer ended before the reply was whole");
        }
        self.invalid("the answer is neither a stream of events nor a JSON object")
    }

    fn transport(&self, error: reqwest::Error) -> ModelError {
        // A request that cannot even be put together has a wrong address or key.
        let class = if error.is_builder() { ModelErrorClass::BadRequest } else { ModelErrorClass::Network };
        self.error(class, &HttpError::Transport(error).to_string())
    }

    fn no_reply(&self, why: ReplyError) -> ModelError {
        match why {
            ReplyError::Invalid(why) => self.invalid(&why),
            ReplyError::Refused(ProviderError { class, message }) => self.error(class, &message),
        }
    }

    fn invalid(&self, why: &str) -> ModelError {
        self.error(ModelErrorClass::InvalidReply, why)
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
