//! What a model is to the loop: it reads a conversation and replies with text, calls or both.
//!
//! Each provider keeps its wire shapes to itself. The arguments of a call stay the string
//! that the model wrote: the tool server validates them, and its error goes back to the model.

pub(crate) mod direct;
pub mod endpoint;
mod error;
pub(crate) mod fallback;
mod image;
pub(crate) mod json_protocol;
pub mod providers;
mod reasoning;
pub(crate) mod scripted;
pub(crate) mod text_calls;
mod thoughts;

use std::pin::Pin;

use models::Prices;
use protocol::{EarlierAttempts, ReplyFormat, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use endpoint::ModelServer;
pub(crate) use error::unreachable;
pub use error::{ModelError, ModelErrorClass};
pub use image::{Image, Picture};
pub(crate) use reasoning::Origin;
pub use reasoning::Reasoning;

pub use crate::words::Words;

/// A provider of replies.
pub trait Model: Send + Sync {
    /// The model's name, for events.
    fn name(&self) -> &str;

    /// The name of its provider, for events.
    fn provider(&self) -> &'static str;

    /// Whether it can be asked anything. One that cannot reads a message as a command.
    fn is_language_model(&self) -> bool {
        true
    }

    /// How its answers are written.
    fn reply_format(&self) -> ReplyFormat {
        ReplyFormat::Markdown
    }

    /// The answer instead of working on a task that an earlier attempt began; none to work on it.
    fn answer_to_retry(&self, _earlier: &EarlierAttempts, _tools: &[ToolSpec]) -> Option<String> {
        None
    }

    /// The next reply to a conversation. Dropping the future ends the request.
    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a>;
}

/// A pending reply.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

/// What a model is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation, oldest message first.
    pub messages: &'a [Message],
    /// The tools it may call, sorted by name.
    pub tools: &'a [ToolSpec],
    /// What the reply's text has to be, if it is not for a person.
    pub schema: Option<&'a ReplySchema>,
    /// Where its text is said while it comes, if a person is to see that.
    pub words: Option<&'a Words>,
}

/// The JSON object that a reply has to be. Not every server knows how to hold a model to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    /// Some providers want a name.
    pub name: &'static str,
    /// JSON Schema of the few keywords that all providers know: each property is required, nothing else is
    /// allowed, and nothing is bounded.
    pub schema: Value,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// From the user, or from the loop on the user's behalf.
    User(String),
    /// From the model.
    Assistant {
        /// Its text; empty if it only made calls.
        text: String,
        /// Its tool calls.
        calls: Vec<ToolCall>,
        /// The reasoning behind them.
        reasoning: Option<Reasoning>,
    },
    /// The result of a call in the message before.
    ToolResult {
        /// The call's id.
        call_id: String,
        /// The envelope's text form.
        text: String,
    },
    /// An image of a result, after all results of its turn.
    Image(Image),
}

impl Message {
    /// A message of the model without reasoning.
    pub fn assistant(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self::Assistant { text: text.into(), calls, reasoning: None }
    }

    /// The calls of a message of the model; none of any other.
    pub(crate) fn calls(&self) -> &[ToolCall] {
        if let Self::Assistant { calls, .. } = self { calls } else { &[] }
    }

    /// The image that it is, unless its picture had to leave.
    pub(crate) fn shown_image(&mut self) -> Option<&mut Image> {
        let Self::Image(image) = self else { return None };
        image.picture.is_some().then_some(image)
    }
}

/// A tool call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's ID for the call, repeated in its result.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: meant as a JSON object, possibly malformed.
    pub arguments: String,
}

impl ToolCall {
    pub(crate) fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    /// The arguments as an object; `Err` wraps what the model wrote if that is none, because several servers
    /// would refuse the whole conversation for one bad call.
    pub(crate) fn arguments_object(&self) -> Result<Map<String, Value>, Map<String, Value>> {
        serde_json::from_str(&self.arguments)
            .map_err(|_| Map::from_iter([("invalid_arguments".to_owned(), Value::from(&*self.arguments))]))
    }

    /// The text of that object; a valid one stays exactly as the model wrote it.
    pub(crate) fn arguments_as_object(&self) -> String {
        match self.arguments_object() {
            Ok(_) => self.arguments.clone(),
            Err(wrapped) => Value::Object(wrapped).to_string(),
        }
    }
}

/// A tool that only reads, for tests.
#[cfg(test)]
pub(crate) fn test_tool(name: &str, description: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        details: String::new(),
        risk: protocol::Risk::Low,
        annotations: protocol::Annotations::READS,
        input_schema,
        essential: Vec::new(),
        output_schema: Value::Null,
    }
}

/// A model's reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its text: the answer to the user if there are no calls.
    pub text: String,
    /// Its tool calls.
    pub calls: Vec<ToolCall>,
    /// The reasoning behind them, to be sent back with them.
    pub reasoning: Option<Reasoning>,
    /// Whether the provider cut the reply at its length limit, so its calls may be incomplete.
    pub cut: bool,
    /// Its token usage.
    pub usage: Usage,
    /// What it cost, in millionths of the currency of the prices; none without prices.
    pub cost_micros: Option<u64>,
    /// The model that replied, if not the one that was asked first.
    pub model_name: Option<String>,
    /// The provider of that model.
    pub provider: Option<&'static str>,
}

impl Reply {
    /// An answer without calls or usage.
    pub fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds what an earlier request for the same reply took.
    pub(crate) fn charge(&mut self, usage: Usage, cost_micros: Option<u64>) {
        self.usage += usage;
        self.cost_micros = match (self.cost_micros, cost_micros) {
            (Some(own), Some(other)) => Some(own.saturating_add(other)),
            (own, other) => own.or(other),
        };
    }

    /// What the provider's content filter left of an answer, with a note about the filter.
    pub(crate) fn filtered(text: String) -> Self {
        if text.trim().is_empty() {
            return Self::answer("(The model provider's content filter withheld the answer.)");
        }
        Self::answer(format!("{text}\n\n(The model provider's content filter cut the answer here.)"))
    }
}

/// Token counts; zeros if the provider reports none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, including the cached part.
    pub input_tokens: u64,
    /// The part of the input that came from the provider's cache.
    pub cached_input_tokens: u64,
    /// All output.
    pub output_tokens: u64,
}

impl Usage {
    /// What it costs, in millionths of the prices' currency: a price is for a million tokens.
    pub(crate) fn cost_micros(self, prices: Prices) -> u64 {
        let cached = self.cached_input_tokens.min(self.input_tokens);
        let parts = [
            (self.input_tokens - cached, prices.input),
            (cached, prices.cached_input.unwrap_or(prices.input)),
            (self.output_tokens, prices.output),
        ];
        #[expect(clippy::cast_precision_loss, reason = "no reply has 2^52 tokens")]
        let cost: f64 = parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast to an integer saturates"
        )]
        let micros = cost.round() as u64;
        micros
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}
