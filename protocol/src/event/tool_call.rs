//! Tool calls. Their starts and ends come from the tool server's journal.

use serde::{Deserialize, Serialize};

use crate::SessionId;
use crate::call_record::{BackgroundProcessEnded, CallEnded, CallReplayed, CallStarted};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallStarted {
    #[serde(flatten)]
    pub call: CallStarted,
    pub session_id: SessionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallCompleted {
    #[serde(flatten)]
    pub call: CallEnded,
    pub session_id: SessionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallFailed {
    #[serde(flatten)]
    pub call: CallEnded,
    pub session_id: SessionId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallReplayed {
    #[serde(flatten)]
    pub call: CallReplayed,
    pub session_id: SessionId,
}

/// A background process of a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionProcessEnded {
    #[serde(flatten)]
    pub process: BackgroundProcessEnded,
    pub session_id: SessionId,
}

/// A tool call began and its end was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallInterrupted {
    pub tool_name: Option<String>,
    /// Why its end was not seen.
    pub error: String,
}
