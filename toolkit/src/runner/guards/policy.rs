//! The operator's rules allow the call.

use std::sync::Arc;

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard, Stop};
use crate::policy::{Decision, Policy, Verdict};
use crate::runner::call::PendingCall;
use crate::runner::replay::Replay;
use crate::{Failure, Success};

/// With the rules, and the server's own address.
pub(super) struct Rules {
    pub(super) policy: Arc<Policy>,
    pub(super) url: String,
}

impl Guard for Rules {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let (tool, arguments) = match call.parts() {
            Ok(parts) => parts,
            Err(error) => return Err(error).into(),
        };
        let (session, caller) = (&call.info.ids.session, call.caller());
        if !self.policy.looks_at_touches(&call.info.tool) {
            let verdict = tool.verdict(&self.policy, arguments, session, caller);
            return Check::Done(self.judge(call, &verdict));
        }
        let (policy, tool, arguments) = (Arc::clone(&self.policy), Arc::clone(tool), arguments.clone());
        let session = session.clone();
        Check::Wait(Box::pin(async move {
            let decided =
                tokio::task::spawn_blocking(move || tool.verdict(&policy, &arguments, &session, caller));
            let verdict = decided.await.map_err(|error| {
                tracing::error!(%error, "the policy could not be applied");
                ToolError::new(ErrorCode::Internal, "The policy could not be applied; the call was not run.")
            })?;
            self.judge(call, &verdict)
        }))
    }
}

impl Rules {
    fn judge(&self, call: &PendingCall, verdict: &Verdict) -> Result<(), Stop> {
        match verdict.decision {
            Decision::Allow => Ok(()),
            Decision::Deny => Err(denied(&call.info.tool, verdict).into()),
            Decision::Ask => Err(Stop::Refused(self.nobody_to_ask(call, verdict))),
        }
    }

    /// Nobody can approve a call here, so what would ask does not run.
    fn nobody_to_ask(&self, call: &PendingCall, verdict: &Verdict) -> Failure {
        let message = format!(
            "`{}` needs the approval of a person ({}), and nobody can be asked here.",
            call.info.tool, verdict.reason
        );
        let error = ToolError::new(ErrorCode::ApprovalRequired, message)
            .with_hint("Do not repeat the call; tell the user, who can change policy.toml.");
        let replay = Replay::of(call, &self.url);
        let data = serde_json::json!({"reason": verdict.reason, "rule": verdict.rule, "replay": replay});
        Failure::of_guard(error, Success { data, ..Success::default() })
    }
}

fn denied(tool: &str, verdict: &Verdict) -> ToolError {
    let message = format!("The operator's policy denies this call of `{tool}`: {}.", verdict.reason);
    ToolError::new(ErrorCode::ToolNotAllowed, message)
        .with_hint("Do not repeat it; continue without it, or ask the user.")
}
