//! What a provider adds to a reply besides its text and its calls: the model's reasoning, opaque to us.
//!
//! A model that thinks wants its reasoning back with the results of its calls, unchanged, and refuses the
//! conversation otherwise. Only the provider that wrote it reads it, and only the model that it came from
//! gets it back: to another it is worthless, and most refuse it. It is part of no text, so people never see
//! it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use super::Reply;

/// Where a reply came from: provider, address and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin(Arc<str>);

impl Origin {
    pub(crate) fn new(url: &str, model: &str) -> Self {
        Self(format!("{model} at {url}").into())
    }
}

/// The reasoning behind a reply, in the form of its provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Reasoning {
    origin: Origin,
    content: Value,
    bytes: usize,
}

impl Reasoning {
    /// What goes back beside the text and the calls of a reply.
    pub(crate) fn beside(origin: &Origin, content: Value) -> Self {
        let bytes = content.to_string().len();
        Self { origin: origin.clone(), content, bytes }
    }

    /// What goes back instead of a reply's text and calls, which it contains.
    pub(crate) fn around(reply: &Reply, origin: &Origin, content: Value) -> Self {
        let arguments: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
        let whole = Self::beside(origin, content);
        Self { bytes: whole.bytes.saturating_sub(reply.text.len() + arguments), ..whole }
    }

    /// The content, if it came from here.
    pub(crate) fn content_for(&self, origin: &Origin) -> Option<&Value> {
        (self.origin == *origin).then_some(&self.content)
    }

    /// All of it, to be kept while no worker has the task.
    pub(crate) fn to_stored(&self) -> Value {
        json!({"origin": &*self.origin.0, "content": self.content, "bytes": self.bytes})
    }

    /// What was kept; none if it cannot be read.
    pub(crate) fn from_stored(stored: &Value) -> Option<Self> {
        let bytes = usize::try_from(stored["bytes"].as_u64()?).ok()?;
        let origin = Origin(stored["origin"].as_str()?.into());
        Some(Self { origin, content: stored.get("content")?.clone(), bytes })
    }

    /// What it takes in a request beyond the text and the calls of its message.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Serialize for Reasoning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_stored().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Reasoning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Value::deserialize(deserializer)?;
        Self::from_stored(&stored).ok_or_else(|| de::Error::custom("no reasoning as it is kept"))
    }
}

/// Its size alone, so that it reaches no log.
impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reasoning({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    #[test]
    fn what_contains_the_reply_counts_without_it() {
        let origin = Origin::new("u", "m");
        let reply = Reply { calls: vec![ToolCall::new("i", "ls", "{}")], ..Reply::answer("hello") };
        let content = json!(["hello", "{}", "secret"]);
        let beside = Reasoning::beside(&origin, content.clone()).bytes();
        assert_eq!(Reasoning::around(&reply, &origin, content).bytes(), beside - 7);
    }
}
