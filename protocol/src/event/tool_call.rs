//! Tool calls. Their starts and ends come from the tool server's journal.

use serde::{Deserialize, Serialize};

use crate::SessionId;
use crate::call_record::{CallEnded, CallStarted};

/// A tool call began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallStarted {
    /// What the journal says of it.
    #[serde(flatten)]
    pub call: CallStarted,
    /// Whose reads and locks it uses.
    pub session_id: SessionId,
}

/// A tool call succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallCompleted {
    /// What the journal says of it.
    #[serde(flatten)]
    pub call: CallEnded,
    /// Whose reads and locks it used.
    pub session_id: SessionId,
}

/// A tool call ended with an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallFailed {
    /// What the journal says of it, with the failure.
    #[serde(flatten)]
    pub call: CallEnded,
    /// Whose reads and locks it used.
    pub session_id: SessionId,
}

/// A tool call began and nobody saw its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallInterrupted {
    /// The tool's name, where it is known.
    pub tool_name: Option<String>,
    /// Why nobody saw the end.
    pub error: String,
}
