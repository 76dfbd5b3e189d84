//! Approvals: what a person decides about a call, as the journal, the events and the routes have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EventId, Risk, SessionId};

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// It may run.
    Grant,
    /// It must not run.
    Deny,
}

/// What a grant covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call, once.
    #[default]
    Call,
    /// Calls of this tool in this task that the same rule asks about.
    Task,
    /// Calls of this tool in this session that the same rule asks about, until a time.
    Chat,
}

/// A call waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequested {
    pub approval_id: EventId,
    pub tool_name: String,
    pub risk: Risk,
    /// Redacted; shortened where they are long.
    pub arguments: Map<String, Value>,
    /// What the call would do; its beginning where it is long.
    pub preview: String,
    pub reason: String,
    /// The rule that asks.
    pub rule: String,
    /// The name of the caller's token.
    pub token: String,
    /// The SHA-256 that binds the decision to this call.
    pub digest: String,
    pub expires_at_ms: i64,
    pub session: SessionId,
}

/// A person approved a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalGranted {
    pub approval_id: EventId,
    pub tool_name: String,
    pub scope: ApprovalScope,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    /// What the person said, if the call asked for that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    pub session: SessionId,
}

/// A person refused a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDenied {
    pub approval_id: EventId,
    pub tool_name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    pub session: SessionId,
}

/// No decision came in time, or the approved call was not made in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalExpired {
    pub approval_id: EventId,
    pub tool_name: String,
    pub session: SessionId,
}

/// An approved call is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalUsed {
    pub approval_id: EventId,
    pub tool_name: String,
    /// The call that runs.
    pub call_id: EventId,
    pub session: SessionId,
}
