//! What the supervisor knows of its own health: one reading for each part that a message needs on its way.
//!
//! The user of a part reports how it is: the receiver of Telegram, the dispatcher for the model, the
//! child supervisor of the tool server. [`crate::monitor`] looks at the rest. A part that is said to be well
//! is one that did its work lately, not one whose process lives.

pub(crate) mod asking;
mod board;
pub(crate) mod commands;
pub(crate) mod database_file;
pub(crate) mod disk;
pub(crate) mod log;
pub(crate) mod model;

use channel::ChannelName;
use serde::{Deserialize, Serialize};

pub(crate) use board::Board;

/// The parts, in the order of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartName {
    Database,
    Journal,
    ToolServer,
    Commands,
    Workers,
    Telegram,
    Model,
    Disk,
    Log,
    /// This process itself, and the launcher without which it cannot go on.
    Supervisor,
}

impl PartName {
    /// The part that a channel is, if it is one.
    pub(crate) fn of_channel(name: &ChannelName) -> Option<Self> {
        (name.as_str() == "telegram").then_some(Self::Telegram)
    }

    /// Whether it is another's service, with its last success in the answer.
    const fn is_remote(self) -> bool {
        match self {
            Self::Telegram | Self::Model => true,
            Self::Database
            | Self::Journal
            | Self::ToolServer
            | Self::Commands
            | Self::Workers
            | Self::Disk
            | Self::Log
            | Self::Supervisor => false,
        }
    }

    /// Whether no message is answered, or none should be, while it has failed.
    const fn is_needed(self) -> bool {
        match self {
            Self::Database
            | Self::Journal
            | Self::ToolServer
            | Self::Workers
            | Self::Telegram
            | Self::Model
            | Self::Supervisor => true,
            Self::Commands | Self::Disk | Self::Log => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PartState {
    Ok,
    /// It works, but not as it should.
    Degraded,
    Failed,
    /// It is not set up.
    Off,
}

/// One part, as `/readyz` and `/status` tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub name: PartName,
    pub state: PartState,
    /// Since when it has been in this state, in milliseconds since the epoch.
    pub since_ms: i64,
    pub detail: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// All parts, and whether messages get answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub ready: bool,
    pub parts: Vec<Part>,
}

impl Report {
    fn of(parts: Vec<Part>) -> Self {
        let has_failed = |part: &Part| part.state == PartState::Failed && part.name.is_needed();
        Self { ready: !parts.iter().any(has_failed), parts }
    }
}

/// How a part is, as somebody found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    state: PartState,
    detail: String,
    remedy: Option<String>,
    /// Whether it did its work.
    is_success: bool,
    /// When a failure is over by itself, in milliseconds since the epoch.
    failed_until_ms: Option<i64>,
}

impl Reading {
    pub(crate) fn ok(detail: impl Into<String>) -> Self {
        let (detail, remedy, failed_until_ms) = (detail.into(), None, None);
        Self { state: PartState::Ok, detail, remedy, is_success: true, failed_until_ms }
    }

    /// It was not tried yet.
    pub(crate) fn untried(detail: impl Into<String>) -> Self {
        Self { is_success: false, ..Self::ok(detail) }
    }

    pub(crate) fn off(detail: impl Into<String>) -> Self {
        Self { state: PartState::Off, ..Self::untried(detail) }
    }

    pub(crate) fn degraded(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: PartState::Degraded, remedy: Some(remedy.into()), ..Self::untried(detail) }
    }

    pub(crate) fn failed(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: PartState::Failed, remedy: Some(remedy.into()), ..Self::untried(detail) }
    }

    /// A failure that counts as over at this time, without another try since.
    pub(crate) fn until(self, time_ms: i64) -> Self {
        Self { failed_until_ms: Some(time_ms), ..self }
    }
}
