//! A reply that is being put together from what a provider sends, piece by piece or at once.
//!
//! The pieces are each provider's own; what they have in common is when a reply is whole. One that was
//! torn never counts as whole, because its text or its arguments may end anywhere.

use super::ProviderError;
use crate::model::Reply;

/// More than any model writes in one reply, and as a result it still fits into a line.
pub(in crate::model) const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;

/// A provider's way from events, or from one body, to a reply.
pub(in crate::model) trait ReplyBuilder: Default {
    /// Takes the data of one event.
    fn event(&mut self, data: &[u8]) -> Result<(), ReplyError>;

    /// Takes a body that has the whole reply in it: not every server streams.
    fn whole(&mut self, body: &[u8]) -> Result<(), ReplyError>;

    /// How far it is.
    fn stage(&self) -> ReplyStage;

    /// The reply; only asked for when it is whole.
    fn reply(self) -> Result<Reply, ReplyError>;
}

/// How far a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum ReplyStage {
    /// Nothing of it has come: the model still reads, or thinks.
    Pending,
    /// A part of it has come.
    Started,
    /// All of it has come; what may follow says only what it cost.
    Complete,
    /// Nothing will follow.
    Ended,
}

/// Why there will be no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) enum ReplyError {
    /// What came makes no sense.
    Invalid(String),
    /// The provider says that it failed.
    Refused(ProviderError),
}

impl ReplyError {
    /// What came is not what the protocol says.
    pub(in crate::model) fn invalid(why: impl std::fmt::Display) -> Self {
        Self::Invalid(why.to_string())
    }
}
