//! What the supervisor knows of its own health: one reading for each part that a message needs on its way.
//!
//! The user of a part reports how it is: a channel for itself, the dispatcher for the model, the child
//! supervisor of the tool server. [`crate::monitor`] looks at the rest. A part that is said to be well
//! is one that did its work lately, not one whose process lives.

pub(crate) mod asking;
mod board;
pub(crate) mod commands;
pub(crate) mod database_file;
pub mod disk;
pub(crate) mod log;
pub(crate) mod model;

use std::fmt;

use channel::ChannelName;
use channel::chat::InvalidChannelName;
use serde::{Deserialize, Serialize};

pub(crate) use board::Board;

/// The parts, in the order of the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PartName {
    Database,
    Journal,
    ToolServer,
    Commands,
    Workers,
    /// A channel whose service is elsewhere.
    Channel(ChannelName),
    Model,
    Disk,
    Log,
    /// This process itself, and the launcher without which it cannot go on.
    Supervisor,
}

impl PartName {
    /// The parts that are no channels.
    const OWN: [Self; 9] = [
        Self::Database,
        Self::Journal,
        Self::ToolServer,
        Self::Commands,
        Self::Workers,
        Self::Model,
        Self::Disk,
        Self::Log,
        Self::Supervisor,
    ];

    /// As the answer has it.
    fn as_str(&self) -> &str {
        match self {
            Self::Database => "database",
            Self::Journal => "journal",
            Self::ToolServer => "tool_server",
            Self::Commands => "commands",
            Self::Workers => "workers",
            Self::Channel(name) => name.as_str(),
            Self::Model => "model",
            Self::Disk => "disk",
            Self::Log => "log",
            Self::Supervisor => "supervisor",
        }
    }

    /// Whether it is another's service, with its last success in the answer.
    const fn is_remote(&self) -> bool {
        match self {
            Self::Channel(_) | Self::Model => true,
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
    const fn is_needed(&self) -> bool {
        match self {
            Self::Database
            | Self::Journal
            | Self::ToolServer
            | Self::Workers
            | Self::Channel(_)
            | Self::Model
            | Self::Supervisor => true,
            Self::Commands | Self::Disk | Self::Log => false,
        }
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl From<PartName> for String {
    fn from(name: PartName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for PartName {
    type Error = InvalidChannelName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match Self::OWN.into_iter().find(|own| own.as_str() == text) {
            Some(own) => Ok(own),
            None => text.parse().map(Self::Channel),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    Ok,
    /// It works, but not as it should.
    Degraded,
    Failed,
    /// It is not set up.
    Off,
}

impl PartState {
    /// Its name on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Off => "off",
        }
    }
}

/// One part, as `/readyz` and `/status` tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
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
pub struct Report {
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
