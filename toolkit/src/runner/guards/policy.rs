//! The operator's rules allow the call, or a person does.

use std::sync::Arc;

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard};
use crate::policy::{CurrentPolicy, Decision, Verdict};
use crate::runner::asking::{Asking, denied_by_rule};
use crate::runner::call::PendingCall;
use crate::runner::quick::{self, SharedQuickCalls};
use crate::runner::stop::Stop;

/// With the rules, and what asks a person.
pub(super) struct Rules {
    pub(super) policy: CurrentPolicy,
    pub(super) asking: Asking,
    pub(super) quick: SharedQuickCalls,
}

impl Guard for Rules {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let (tool, arguments) = match call.parts() {
            Ok(parts) => parts,
            Err(error) => return Err(error).into(),
        };
        let (scope, caller, policy) = (&call.info.scope, call.caller(), self.policy.get());
        if !policy.looks_at_touches(&call.info.tool) {
            let verdict = tool.verdict(&policy, arguments, scope, caller);
            return match what_follows(&verdict, call) {
                Decision::Allow => Ok(()).into(),
                Decision::Deny => Err(denied_by_rule(&call.info.tool, &verdict)).into(),
                Decision::Ask => Check::Wait(Box::pin(self.asking.ask(call, verdict))),
            };
        }
        let (tool, arguments) = (Arc::clone(tool), arguments.clone());
        let (scope, is_quick) = (scope.clone(), tool.is_quick());
        let deadline = call.info.since + call.timeout;
        Check::Wait(Box::pin(async move {
            // It looks at the files that the call names, as the tool itself does.
            let decide = move || tool.verdict(&policy, &arguments, &scope, caller);
            let decided = quick::of_this_runtime(&self.quick).run(is_quick, deadline, decide).await;
            let verdict = decided.map_err(|_| {
                let message = "The paths of the call could not be followed before its deadline.";
                ToolError::new(ErrorCode::Timeout, message)
            })?;
            let verdict = verdict.map_err(|error| {
                tracing::error!(%error, "the policy could not be applied");
                ToolError::new(ErrorCode::Internal, "The policy could not be applied; the call was not run.")
            })?;
            match what_follows(&verdict, call) {
                Decision::Allow => Ok(()),
                Decision::Deny => Err(Stop::from(denied_by_rule(&call.info.tool, &verdict))),
                Decision::Ask => self.asking.ask(call, verdict).await,
            }
        }))
    }
}

/// A person is asked the question of a call that the rules allow, and no other.
fn what_follows(verdict: &Verdict, call: &PendingCall) -> Decision {
    if verdict.decision != Decision::Deny && call.asks_question() { Decision::Ask } else { verdict.decision }
}
