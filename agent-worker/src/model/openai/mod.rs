//! Chat completions, as OpenAI defined them and vLLM, Ollama, llama.cpp and OpenRouter speak them.
//!
//! Native function calling, streamed, so that a stalled connection is noticed. A server that does not
//! stream works too, and one that refuses `stream_options` is asked without them.

mod calls;
mod reasoning;
mod reply;
mod request;
mod wire;

use std::sync::OnceLock;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::endpoint::{Accepted, Endpoint, RequestError, Settings};
use super::{Model, ModelError, Reply, ReplyFuture, Request};
use crate::http::HttpError;
use reply::CompletionBuilder;

pub(crate) const DEFAULT_MODEL: &str = "gpt-4.1-mini";

/// The parameter that OpenAI names when it takes no tools from a model that thinks.
const EFFORT: &str = "reasoning_effort";

const TOOLS_NEED_RESPONSES: &str = "set AUTONOUS_MODEL_PROVIDER=openai-responses, with which this model \
     thinks and calls tools, or AUTONOUS_MODEL_REASONING_EFFORT=none";

/// The provider.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    /// Whether the server accepts `stream_options`; unknown until it has accepted or refused them.
    accepts_options: OnceLock<bool>,
    /// Set once the model has sent `reasoning_content`, which it then demands with every call.
    demands_reasoning: OnceLock<()>,
}

impl OpenAi {
    /// A provider that has sent nothing yet.
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let endpoint = Endpoint::new(settings, "chat/completions", sign)?;
        Ok(Self { endpoint, accepts_options: OnceLock::new(), demands_reasoning: OnceLock::new() })
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: Request<'_>) -> Value {
        request::body(self.endpoint.settings(), self.endpoint.origin(), request)
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let mut body = self.body(request);
        if self.demands_reasoning.get().is_some() {
            reasoning::add_empty(&mut body["messages"]);
        }
        let accepted = match self.send(&mut body).await {
            // Another model may have made the calls, and this one may demand its reasoning with them.
            Err(refused) if refused.may_be_the_body() && reasoning::add_empty(&mut body["messages"]) => {
                self.send(&mut body).await.map_err(|second| refused.unless_unanswered(second))?
            }
            Err(refused) if refused.is_for(EFFORT) && !request.tools.is_empty() => {
                return Err(refused.with_remedy(TOOLS_NEED_RESPONSES).into());
            }
            end => end?,
        };
        let reply = self.endpoint.reply::<CompletionBuilder>(accepted).await?;
        let content = reply.reasoning.as_ref().and_then(|ours| ours.content_for(self.endpoint.origin()));
        if content.is_some_and(reasoning::is_demanded) {
            self.demands_reasoning.get_or_init(|| ());
        }
        Ok(reply)
    }

    async fn send(&self, body: &mut Value) -> Result<Accepted, RequestError> {
        match self.accepts_options.get() {
            Some(true) => {}
            Some(false) => request::remove_stream_options(body),
            None => return self.send_and_learn(body).await,
        }
        self.endpoint.send(body).await
    }

    /// Sends the first request. If only the same without options succeeds, it was refused for them.
    async fn send_and_learn(&self, body: &mut Value) -> Result<Accepted, RequestError> {
        let refused = match self.endpoint.send(body).await {
            Ok(accepted) => {
                if request::has_stream_options(body) {
                    self.accepts_options.get_or_init(|| true);
                }
                return Ok(accepted);
            }
            Err(refused) => refused,
        };
        if !refused.may_be_the_body() {
            return Err(refused);
        }
        request::remove_stream_options(body);
        match self.endpoint.send(body).await {
            Ok(accepted) => {
                self.accepts_options.get_or_init(|| false);
                Ok(accepted)
            }
            Err(second) => Err(refused.unless_unanswered(second)),
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
