//! `plan_update`: the arguments, and what they change in a plan.

use protocol::event::PlanUpdated;
use protocol::{Annotations, Plan, Risk, StepStatus, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use toolkit::arguments::{elide, invalid};
use toolkit::function::About;

pub(super) const ABOUT: About = About {
    name: "plan_update",
    risk: Risk::Low,
    annotations: Annotations { destructive: false, idempotent: true, ..Annotations::ACTS },
    essential: &[],
    json_texts: &[],
};

const MAX_NOTE_CHARS: usize = 300;

/// Sets a plan step's status; completing one begins the next.
///
/// # Details
///
/// At most one step is in progress: one that was becomes pending again when another begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateArguments {
    /// Its number, from 1.
    #[schemars(range(min = 1, max = 20))]
    step: usize,
    status: StepStatus,
    /// What came of it.
    #[serde(default)]
    note: Option<String>,
}

impl UpdateArguments {
    /// Applies the update to a plan; returns what else that changed, and the event.
    pub(super) fn apply(self, plan: &mut Plan) -> Result<(Vec<String>, PlanUpdated), ToolError> {
        let Self { step, status, note } = self;
        let notices = set(plan, step, status)?;
        let note = note.map(|note| elide(&note, MAX_NOTE_CHARS));
        Ok((notices, PlanUpdated { step, status, note, plan: plan.clone() }))
    }
}

/// Gives a step another status; returns what else that changed.
fn set(plan: &mut Plan, number: usize, status: StepStatus) -> Result<Vec<String>, ToolError> {
    let (all, current) = (plan.steps.len(), plan.current().map(|(number, _)| number));
    let index = number.checked_sub(1).filter(|index| *index < all);
    let Some(index) = index else {
        return Err(invalid(format!("`step` is {number}, and the plan has the steps 1 to {all}.")));
    };
    plan.steps[index].status = status;
    match (status, current.filter(|current| *current != number)) {
        (StepStatus::InProgress, Some(other)) => {
            plan.steps[other - 1].status = StepStatus::Pending;
            Ok(vec![format!("Step {other} was in progress and is pending again: only one can be.")])
        }
        (StepStatus::Completed, None) => {
            if let Some(next) = plan.steps.iter_mut().find(|step| step.status == StepStatus::Pending) {
                next.status = StepStatus::InProgress;
            }
            Ok(Vec::new())
        }
        (StepStatus::InProgress | StepStatus::Pending, None)
        | (StepStatus::Completed | StepStatus::Pending, Some(_)) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use protocol::PlanStep;

    use super::*;

    #[test]
    fn at_most_one_step_is_in_progress_whatever_is_updated() {
        use StepStatus::{Completed, InProgress, Pending};
        let step = |status| PlanStep { step: "x".to_owned(), status };
        let mut plan = Plan { steps: [InProgress, Pending, Pending].map(step).to_vec(), ..Plan::default() };
        for (number, status, expected, has_notice) in [
            (3, InProgress, [Pending, Pending, InProgress], true),
            (3, InProgress, [Pending, Pending, InProgress], false),
            (1, Completed, [Completed, Pending, InProgress], false),
            (3, Completed, [Completed, InProgress, Completed], false),
            (2, Pending, [Completed, Pending, Completed], false),
            (2, Completed, [Completed, Completed, Completed], false),
            (1, InProgress, [InProgress, Completed, Completed], false),
        ] {
            let notices = set(&mut plan, number, status).unwrap();
            let statuses: Vec<StepStatus> = plan.steps.iter().map(|step| step.status).collect();
            assert_eq!((statuses.as_slice(), !notices.is_empty()), (&expected[..], has_notice), "{number}");
        }
        for number in [0, 4] {
            let error = set(&mut plan, number, Completed).unwrap_err();
            assert!(error.message.contains("steps 1 to 3"), "{error}");
        }
    }
}
