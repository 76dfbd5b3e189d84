//! Where a channel gives what it receives, and says how its service is.

use super::BoxFuture;
use super::update::Update;

/// Stores the updates of one channel, and does what they ask for.
pub trait UpdateSink: Send + Sync {
    /// Whether messages that waited at start may still come.
    fn is_in_backlog(&self) -> bool;

    /// Where the channel continues: the updates before it are stored.
    fn position(&self) -> BoxFuture<'_, Result<Option<String>, NotStored>>;

    /// Stores updates with the position behind them, and does what they ask for. `is_last` says that no more
    /// of those come that waited at start.
    fn store(
        &mut self,
        updates: Vec<Update>,
        position: Option<String>,
        is_last: bool,
    ) -> BoxFuture<'_, Result<(), NotStored>>;

    /// Notes how the service is.
    fn report(&self, state: ServiceState);
}

/// Why updates are not stored, in words. The same ones can be stored later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotStored(pub String);

/// How a channel's service is, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceState {
    /// It answers.
    Ok {
        /// What is known of it.
        detail: String,
    },
    /// It works in part, or failed a short time ago.
    Degraded {
        /// What is known of it.
        detail: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// It does not work.
    Failed {
        /// What is known of it.
        detail: String,
        /// What to do about it.
        remedy: &'static str,
    },
}
