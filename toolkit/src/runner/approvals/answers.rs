//! What an approver gets as an answer: the same words from every program that has approvals.

use protocol::{Data, Envelope, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::{Approval, Change, DecideError, Decided, NewDecision};
use crate::arguments::{elide, invalid};
use crate::runner::refusal;

impl DecideError {
    /// The answer to a decision about the approval with this ID.
    pub fn answer(self, id: &str) -> Envelope {
        match self {
            Self::Unknown => refusal("", unknown(id)),
            Self::Decided(approval) => decided_before(&approval),
            Self::Invalid(what) => refusal("", invalid(what)),
            Self::Io(error) => {
                tracing::error!(%error, "a decision could not be stored");
                let message = "The decision could not be stored, so it does not hold.";
                let error =
                    ToolError { http_status: Some(500), ..ToolError::new(ErrorCode::IoError, message) };
                refusal("", error)
            }
        }
    }
}

impl NewDecision {
    /// Reads a decision.
    ///
    /// # Errors
    /// The fault, and the right form.
    pub fn parse(fields: Map<String, Value>) -> Result<Self, ToolError> {
        serde_json::from_value(Value::Object(fields)).map_err(|error| {
            invalid(format!("The decision is not understood: {error}.")).with_hint(
                "Send {\"decision\": \"grant\" or \"deny\", \"scope\": \"call\", \"task\" or \"chat\", \
                 \"until_ms\", \"reason\", \"by\", \"answer\"}.",
            )
        })
    }
}

impl Change {
    /// The change as a server-sent event, with the approval as its data.
    pub fn event(&self) -> String {
        let data = serde_json::to_string(&*self.approval).unwrap_or_default();
        format!("event: {}\nid: {}\ndata: {data}\n\n", self.kind, self.approval.id)
    }
}

/// There is no approval with this ID.
pub fn unknown(id: &str) -> ToolError {
    let message = format!("No such approval: {}.", elide(id, 60));
    let error = ToolError::new(ErrorCode::NotFound, message).with_hint("GET /approvals lists them.");
    ToolError { http_status: Some(404), ..error }
}

fn decided_before(approval: &Approval) -> Envelope {
    let by = |by: &Option<String>| by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    let what = match &approval.decision {
        Some(Decided { by: who, answer: Some(answer), .. }) => {
            format!("It was answered before{}: {}.", by(who), elide(answer, 60))
        }
        Some(decided) => {
            let decision = serde_json::to_value(decided.decision).unwrap_or_default();
            let decision = decision.as_str().unwrap_or_default();
            format!("It was decided before{}: {decision}.", by(&decided.by))
        }
        None => "It has expired.".to_owned(),
    };
    let mut envelope = refusal("", ToolError::new(ErrorCode::ApprovalDecided, what));
    envelope.meta.data = Data::of(approval);
    envelope
}
