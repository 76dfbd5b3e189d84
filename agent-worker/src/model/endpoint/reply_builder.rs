//! A reply under construction from what a provider sends, event by event or in one body.
//!
//! Each provider has its own events; they share when a reply is complete. A reply that broke off never
//! counts as complete, because its text or its arguments may end anywhere.

use super::ProviderError;
use crate::model::{Origin, Reply};

/// More than any model writes in one reply; it still fits into a line as a result.
pub(in crate::model) const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;

pub(in crate::model) trait ReplyBuilder: Default {
    fn add_event(&mut self, data: &[u8]) -> Result<(), ReplyError>;

    /// Adds a body that holds the whole reply: not every server streams.
    fn add_body(&mut self, body: &[u8]) -> Result<(), ReplyError>;

    fn stage(&self) -> ReplyStage;

    /// The reply; only called when it is complete. Its reasoning will be for `origin`.
    fn finish(self, origin: &Origin) -> Result<Reply, ReplyError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum ReplyStage {
    /// Nothing has arrived: the model still reads or thinks.
    Pending,
    Started,
    /// All of it has arrived; only its usage may follow.
    Complete,
    /// Nothing will follow.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) enum ReplyError {
    Invalid(String),
    Provider(ProviderError),
}

impl ReplyStage {
    pub(in crate::model) fn of(bytes: usize, is_complete: bool, is_ended: bool) -> Self {
        match (is_ended, is_complete, bytes) {
            (true, _, _) => Self::Ended,
            (false, true, _) => Self::Complete,
            (false, false, 0) => Self::Pending,
            (false, false, _) => Self::Started,
        }
    }
}

impl ReplyError {
    pub(in crate::model) fn invalid(why: impl std::fmt::Display) -> Self {
        Self::Invalid(why.to_string())
    }
}

pub(in crate::model) fn check_size(bytes: usize) -> Result<(), ReplyError> {
    if bytes > MAX_REPLY_BYTES {
        return Err(ReplyError::invalid(format!("the reply is longer than {MAX_REPLY_BYTES} bytes")));
    }
    Ok(())
}

/// Refuses a reply without text and calls, unless it was cut.
pub(in crate::model) fn check_content(reply: Reply) -> Result<Reply, ReplyError> {
    if reply.text.trim().is_empty() && reply.calls.is_empty() && !reply.cut {
        return Err(ReplyError::invalid("the reply has neither text nor tool calls"));
    }
    Ok(reply)
}

#[cfg(test)]
pub(in crate::model) mod test_replies {
    use super::*;
    use serde_json::Value;

    pub(in crate::model) fn origin() -> Origin {
        Origin::new("https://example.com/v1/test", "m")
    }

    pub(in crate::model) fn streamed<B: ReplyBuilder>(events: &[Value]) -> Result<Reply, ReplyError> {
        let mut builder = B::default();
        events.iter().try_for_each(|event| builder.add_event(event.to_string().as_bytes()))?;
        builder.finish(&origin())
    }

    pub(in crate::model) fn whole<B: ReplyBuilder>(body: &Value) -> Result<Reply, ReplyError> {
        let mut builder = B::default();
        builder.add_body(body.to_string().as_bytes())?;
        builder.finish(&origin())
    }

    /// Checks the stages around four events: without text, with text, complete, ended.
    pub(in crate::model) fn check_stages<B: ReplyBuilder>(events: [String; 4]) {
        use ReplyStage::{Complete, Ended, Pending, Started};
        let mut builder = B::default();
        assert_eq!(builder.stage(), Pending);
        for (event, expected) in events.iter().zip([Pending, Started, Complete, Ended]) {
            builder.add_event(event.as_bytes()).unwrap();
            assert_eq!(builder.stage(), expected, "{event}");
        }
    }
}
