//! What a provider adds to a reply besides its text and its calls: the model's reasoning, opaque to us.
//!
//! A model that thinks wants its reasoning back with the results of its calls, unchanged, and refuses the
//! conversation otherwise. Only the provider that wrote it reads it, and only the model that it came from
//! gets it back: to another it is worthless, and most refuse it. It is part of no text, so people never see
//! it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reply;

/// Where a reply came from: provider, address and model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin(String);

impl Origin {
    pub(crate) fn new(url: &str, model: &str) -> Self {
        Self(format!("{model} at {url}"))
    }
}

/// The reasoning behind a reply, in the form of its provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    origin: Origin,
    content: Value,
    /// What it takes in a request beyond the text and the calls of its message.
    pub(crate) bytes: usize,
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
}

/// Its size alone, so that it reaches no log.
impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reasoning({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ToolCall;

    #[test]
    fn what_contains_the_reply_counts_without_it() {
        let origin = Origin::new("u", "m");
        let reply = Reply { calls: vec![ToolCall::new("i", "ls", "{}")], ..Reply::answer("hello") };
        let content = json!(["hello", "{}", "secret"]);
        let beside = Reasoning::beside(&origin, content.clone()).bytes;
        assert_eq!(Reasoning::around(&reply, &origin, content).bytes, beside - 7);
    }
}
