//! Approvals: the calls that wait for a person, who is asked about them, and what they decide.
//!
//! The tool server keeps those of its calls and decides what a decision covers; the supervisor has the
//! approver's token for them, and keeps those of the calls that it runs itself in the same way. It shows what
//! waits to those who may decide, and passes on what they say.

pub(crate) mod ask;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod expire;
pub(crate) mod follow;
pub(crate) mod pass_on;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use protocol::{EventId, SessionId, TaskId};
use serde::Deserialize;
use serde_json::Value;

/// A call that waits for a person, or waited, as the tool server tells it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Approval {
    pub id: EventId,
    /// `pending`, or what became of it.
    pub state: String,
    pub tool: String,
    #[serde(default)]
    pub risk: Value,
    #[serde(default)]
    pub arguments: Value,
    /// What the call would do.
    #[serde(default)]
    pub preview: String,
    /// Why somebody is asked.
    #[serde(default)]
    pub reason: String,
    /// What further calls a yes for the task or the chat lets run; none if it can be for this call alone.
    #[serde(default)]
    pub covers: Option<String>,
    pub session: SessionId,
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default)]
    pub created_at_ms: i64,
    #[serde(default)]
    pub decision: Option<Decided>,
}

/// What somebody has decided.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Decided {
    /// `grant` or `deny`.
    pub decision: String,
    #[serde(default)]
    pub scope: Option<String>,
    /// Until when a yes for the chat holds.
    #[serde(default)]
    pub until_ms: Option<i64>,
    #[serde(default)]
    pub decided_at_ms: i64,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub by: Option<String>,
}

impl Approval {
    /// One of our own, as the tool server would tell it.
    fn of_own(own: &toolkit::approvals::Approval) -> Option<Self> {
        let told = serde_json::to_value(own).and_then(serde_json::from_value);
        told.inspect_err(|error| tracing::error!(%error, "an approval could not be read")).ok()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.state == "pending"
    }
}
