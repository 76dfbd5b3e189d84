//! What a model is to the loop: something that reads a conversation and answers with text, calls or both.
//!
//! One file per provider; a provider's own request and response shapes never leave its file. Arguments
//! of a call stay the raw string that the model wrote: whether they are right is the tool server's
//! judgement, and its error goes back to the model.

pub mod anthropic;
pub mod direct;
pub mod endpoint;
pub mod error;
pub mod fallback;
pub mod json_protocol;
pub mod openai;
pub mod scripted;

use std::pin::Pin;

use protocol::ToolSpec;
use serde_json::{Map, Value};

pub use error::{ModelError, ModelErrorClass};

/// A provider of replies.
pub trait Model: Send + Sync {
    /// The model's name, for events.
    fn name(&self) -> &str;

    /// The next reply to a conversation. Dropping the future ends the request.
    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a>;
}

/// A reply that is on its way.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

/// What the model gets to see.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Who it is and what rules it keeps.
    pub system: &'a str,
    /// What was said and done, oldest first.
    pub messages: &'a [Message],
    /// What it may call, sorted by name.
    pub tools: &'a [ToolSpec],
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// From the person, or from the loop in its place.
    User(String),
    /// From the model.
    Assistant {
        /// What it said; empty when it only called.
        text: String,
        /// What it called.
        calls: Vec<ToolCall>,
    },
    /// What a call of the message before led to.
    ToolResult {
        /// The call's id.
        call_id: String,
        /// The envelope's text form.
        text: String,
    },
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's own id of the call; its result carries it.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: meant as a JSON object, and perhaps none.
    pub arguments: String,
}

impl ToolCall {
    /// The arguments as an object that every provider takes back, in `Err` where the model wrote none.
    ///
    /// Several servers parse what they are sent, and would refuse a whole conversation for the sake of
    /// one bad call. The model still sees what it wrote.
    pub(crate) fn arguments_object(&self) -> Result<Map<String, Value>, Map<String, Value>> {
        serde_json::from_str(&self.arguments)
            .map_err(|_| Map::from_iter([("invalid_arguments".to_owned(), Value::from(&*self.arguments))]))
    }
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it said; the answer to the user when it called nothing.
    pub text: String,
    /// What it called.
    pub calls: Vec<ToolCall>,
    /// Whether the provider ended the reply at its length limit, so that its calls may be torn.
    pub cut: bool,
    /// What it cost.
    pub usage: Usage,
    /// Who gave it, where that is another model than the one that was asked first.
    pub model_name: Option<String>,
}

impl Reply {
    /// An answer without calls that cost nothing.
    pub fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What the provider's own filter left of an answer, and a word about it.
    pub(crate) fn filtered(text: String) -> Self {
        if text.trim().is_empty() {
            return Self::answer("(The model's provider withheld the answer: its content filter objects.)");
        }
        Self::answer(format!("{text}\n\n(The content filter of the model's provider ended the answer here.)"))
    }
}

/// What a reply cost, in tokens; zeros where the provider does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, the cached part too.
    pub input_tokens: u64,
    /// The part of the input that the provider had cached.
    pub cached_input_tokens: u64,
    /// The reply.
    pub output_tokens: u64,
}
