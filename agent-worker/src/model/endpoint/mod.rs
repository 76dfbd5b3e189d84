//! A model on the network: asks its server over HTTP in the protocol of its provider, waits with timeouts,
//! bounds what arrives, and keeps the key out of every error.
//!
//! A model may think for minutes before the first part of a reply, but never pauses long after it. So
//! there are two timeouts and none for the whole request: the task's wall time drops it. This module
//! does not interpret a reply; each provider's [`ReplyBuilder`] does.

mod body_reader;
mod protocol;
mod provider_error;
mod reply_builder;
mod required_first;
mod settings;
mod sse;

use std::mem::take;
use std::time::Duration;

use ::protocol::event::Unreachable;
use ::settings::Provider;
use reqwest::{Client, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::thoughts::Thoughts;
use super::{Model, ModelError, ModelErrorClass, Origin, Reply, ReplyFuture, Request, Words, text_calls};
use crate::http::{self, HttpError};

use body_reader::{BodyError, BodyReader};
pub(super) use protocol::{Protocol, kind, put};
use provider_error::ProviderError;
pub(super) use reply_builder::{
    DONE, Ending, Found, FoundReasoning, ReplyBuilder, ReplyError, ReplyStage, usage,
};
use required_first::RequiredFirst;
pub use settings::{Options, Settings, Timeouts};

/// How much of an error body is read, and how much of its message is passed on.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const MAX_DETAIL_CHARS: usize = 300;

/// How long to wait for the end of a stream when the reply itself is complete.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A model and its server.
pub struct ModelServer {
    client: Client,
    url: Url,
    provider: Provider,
    protocol: Box<dyn Protocol>,
    settings: Settings,
    origin: Origin,
    thoughts: Thoughts,
}

/// Why a request has no response to read.
#[derive(Debug)]
pub(super) struct RequestError {
    status: Option<u16>,
    /// The parameter that the server names.
    param: Option<String>,
    error: ModelError,
}

impl RequestError {
    /// Whether something in the body may be what the server does not take.
    pub(super) fn may_be_the_body(&self) -> bool {
        matches!(self.status, Some(400 | 422)) && self.error.class == ModelErrorClass::BadRequest
    }

    /// Whether the server refuses this parameter.
    pub(super) fn is_for(&self, param: &str) -> bool {
        self.may_be_the_body() && self.param.as_deref() == Some(param)
    }
}

impl From<ModelError> for RequestError {
    fn from(error: ModelError) -> Self {
        Self { status: None, param: None, error }
    }
}

impl Model for ModelServer {
    fn name(&self) -> &str {
        &self.settings.model
    }

    fn provider(&self) -> &'static str {
        self.provider.name()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

impl ModelServer {
    /// A model whose server speaks this protocol. Nothing is sent yet.
    pub(super) fn new(
        provider: Provider,
        protocol: Box<dyn Protocol>,
        mut settings: Settings,
    ) -> Result<Self, HttpError> {
        let client = http::model_client(settings.proxy.as_ref())?;
        let path = protocol.path(&settings.model);
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        if let Some((name, value)) = query.split_once('=') {
            settings.base_url.query_pairs_mut().append_pair(name, value);
        }
        let url = settings.url(path);
        let origin = Origin::new(url.as_str(), &settings.model);
        Ok(Self { client, url, provider, protocol, settings, origin, thoughts: Thoughts::default() })
    }

    /// The body of a request, as it is sent first.
    pub fn body(&self, request: Request<'_>) -> Value {
        self.protocol.body(&self.settings, &self.origin, request)
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let body = self.send_amended(self.body(request)).await?;
        let reply = self.thoughts.removed_from(self.read(body, request.words).await?);
        if let Some(content) = reply.reasoning.as_ref().and_then(|ours| ours.content_for(&self.origin)) {
            self.protocol.replied(content);
        }
        Ok(reply)
    }

    /// Sends a body until the server takes it or nothing in it is left to change. The first refusal counts,
    /// unless the server did not respond any more.
    async fn send_amended(&self, mut body: Value) -> Result<BodyReader, ModelError> {
        let mut first: Option<RequestError> = None;
        let mut refusals = 0;
        loop {
            let refused = match self.send(&body).await {
                Ok(accepted) => {
                    self.protocol.accepted(&body, refusals);
                    return Ok(accepted);
                }
                Err(refused) => refused,
            };
            refusals += 1;
            let may_go_on = self.protocol.amend(&refused, &mut body);
            let counts = match first.take() {
                Some(first) if refused.status.is_some() => first,
                _ => refused,
            };
            if !may_go_on {
                let remedy = self.protocol.remedy(&counts, &body);
                let RequestError { mut error, .. } = counts;
                remedy.iter().for_each(|remedy| error.detail.push_str(&format!("; {remedy}")));
                return Err(error);
            }
            first = Some(counts);
        }
    }

    /// Sends a request and waits for the first bytes of a successful response.
    async fn send(&self, body: &Value) -> Result<BodyReader, RequestError> {
        let request = self.protocol.sign(self.client.post(self.url.clone()), &self.settings);
        let body = self.settings.completed(body);
        let request = match self.settings.options.required_first {
            true => request.json(&RequiredFirst(&body)),
            false => request.json(&body),
        };
        let request = request.headers(self.settings.options.extra_headers.headers().clone());
        let request = request.build().map_err(|error| self.transport(error))?;
        let first_byte = self.settings.timeouts.first_byte;
        let response = timeout(first_byte, self.client.execute(request)).await;
        let response = response.map_err(|_| self.body_error(BodyError::Timeout(first_byte)))?;
        let response = response.map_err(|error| self.transport(error))?;
        let (status, retry_after) = (response.status(), http::retry_after(response.headers()));
        let mut body = BodyReader::new(response);
        if status.is_success() {
            body.begin(first_byte).await.map_err(|error| self.body_error(error))?;
            return Ok(body);
        }
        let body = body.at_most(MAX_ERROR_BYTES, CLOSE_TIMEOUT).await;
        let status = status.as_u16();
        let ProviderError { class, message, param, wait } = ProviderError::of_status(status, &body);
        let error = self.error(class, &format!("HTTP {status}: {message}"));
        let error = ModelError { retry_after: retry_after.or(wait), ..error };
        Err(RequestError { status: Some(status), param, error })
    }

    /// Reads a reply to its end, whether it comes as a stream or as one body.
    async fn read(&self, mut body: BodyReader, words: Option<&Words>) -> Result<Reply, ModelError> {
        let mut builder = self.protocol.reply_builder();
        if body.first.first() == Some(&b'{') {
            let body = body.whole(self.settings.timeouts.idle).await;
            let body = body.map_err(|error| self.body_error(error))?;
            reply_builder::add(&mut *builder, &body, true).map_err(|error| self.reply_error(error))?;
        } else {
            self.stream(body, &mut *builder, words).await?;
        }
        let reply = builder.found().reply(&self.origin).map_err(|error| self.reply_error(error))?;
        let cost_micros = self.settings.options.prices.map(|prices| reply.usage.cost_micros(prices));
        Ok(Reply { cost_micros, ..reply })
    }

    async fn stream(
        &self,
        mut body: BodyReader,
        builder: &mut dyn ReplyBuilder,
        words: Option<&Words>,
    ) -> Result<(), ModelError> {
        let mut parser = sse::Parser::default();
        let mut bytes = Some(take(&mut body.first));
        let mut has_events = false;
        loop {
            match &bytes {
                Some(bytes) => parser.push(bytes).map_err(|error| self.invalid(&error.to_string()))?,
                None => parser.end(),
            }
            while let Some(data) = parser.next() {
                has_events = true;
                reply_builder::add(builder, &data, false).map_err(|error| self.reply_error(error))?;
            }
            words.iter().for_each(|words| self.say(words, builder));
            match (builder.stage(), bytes.is_none()) {
                (ReplyStage::Ended, _) | (ReplyStage::Complete, true) => return Ok(()),
                (ReplyStage::Pending | ReplyStage::Started, true) => return Err(self.incomplete(has_events)),
                (ReplyStage::Pending | ReplyStage::Started | ReplyStage::Complete, false) => {}
            }
            bytes = match body.next(self.idle_timeout(builder.stage())).await {
                Ok(bytes) => bytes,
                // Only the usage is missing.
                Err(_) if builder.stage() == ReplyStage::Complete => return Ok(()),
                Err(error) => return Err(self.body_error(error)),
            };
        }
    }

    /// Says what has come of a text, but for thoughts and calls in it.
    fn say(&self, words: &Words, builder: &dyn ReplyBuilder) {
        let is_whole = matches!(builder.stage(), ReplyStage::Complete | ReplyStage::Ended);
        words.say(text_calls::before_calls(&self.thoughts.so_far(&builder.text())), is_whole);
    }

    fn idle_timeout(&self, stage: ReplyStage) -> Duration {
        match stage {
            ReplyStage::Pending => self.settings.timeouts.first_byte,
            ReplyStage::Started => self.settings.timeouts.idle,
            ReplyStage::Complete | ReplyStage::Ended => CLOSE_TIMEOUT.min(self.settings.timeouts.idle),
        }
    }

    fn body_error(&self, error: BodyError) -> ModelError {
        match error {
            BodyError::Timeout(timeout) => {
                let detail = format!("no data for {} seconds", timeout.as_secs_f32());
                self.error(ModelErrorClass::Stalled, &detail)
            }
            BodyError::Transport(error) => self.transport(error),
            BodyError::TooLong => self.invalid("the response is longer than any reply"),
        }
    }

    fn incomplete(&self, has_events: bool) -> ModelError {
        if has_events {
            return self.error(ModelErrorClass::Network, "the response ended before the reply was complete");
        }
        self.invalid("the response is neither an event stream nor a JSON object")
    }

    fn transport(&self, error: reqwest::Error) -> ModelError {
        if error.is_connect() {
            return self.unreachable(&error);
        }
        // A request that cannot be built has a wrong address or key.
        let class = if error.is_builder() { ModelErrorClass::BadRequest } else { ModelErrorClass::Network };
        self.error(class, &HttpError::Transport(error).to_string())
    }

    fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let through_proxy = self.settings.proxy.is_some() && self.url.scheme() == "https";
        let hint = if through_proxy { ", and HTTPS_PROXY is set" } else { "" };
        let cause = self.settings.without_secrets(&http::cause(error));
        let cause = format!("{}{hint}", cause.chars().take(MAX_DETAIL_CHARS).collect::<String>());
        let address = self.settings.without_secrets(&self.settings.shown_address());
        ModelError::unreachable(Unreachable { address, cause })
    }

    fn reply_error(&self, error: ReplyError) -> ModelError {
        match error {
            ReplyError::Invalid(why) => self.invalid(&why),
            ReplyError::Provider(ProviderError { class, message, wait, .. }) => {
                ModelError { retry_after: wait, ..self.error(class, &message) }
            }
        }
    }

    fn invalid(&self, why: &str) -> ModelError {
        self.error(ModelErrorClass::InvalidReply, why)
    }

    fn error(&self, class: ModelErrorClass, detail: &str) -> ModelError {
        let detail = self.settings.without_secrets(detail);
        ModelError::new(class, detail.chars().take(MAX_DETAIL_CHARS).collect::<String>())
    }
}
