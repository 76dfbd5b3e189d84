//! A plan for a task: the steps that the model wants to take, and how far it has come.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Nothing was done for it.
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
}

impl StepStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::InProgress, Self::Completed];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl fmt::Display for StepStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => "in progress",
            Self::Pending | Self::Completed => self.as_str(),
        })
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// What to do.
    pub step: String,
    /// How far it has come.
    pub status: StepStatus,
}

/// A plan. At most one of its steps is in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What the plan does, in a sentence or two.
    pub summary: String,
    /// The steps, in their order.
    pub steps: Vec<PlanStep>,
    /// What may go wrong.
    pub risks: Vec<String>,
    /// What only the user can answer.
    pub questions: Vec<String>,
    /// When the task is done.
    pub completion: String,
}

impl Plan {
    /// The step in progress and its number, from 1.
    pub fn current(&self) -> Option<(usize, &PlanStep)> {
        self.numbered().find(|(_, step)| step.status == StepStatus::InProgress)
    }

    /// The first step that nothing was done for, and its number.
    pub fn next(&self) -> Option<(usize, &PlanStep)> {
        self.numbered().find(|(_, step)| step.status == StepStatus::Pending)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &PlanStep)> {
        self.steps.iter().enumerate().map(|(index, step)| (index + 1, step))
    }

    /// Where the plan stands, such as `[2/6] in progress: build it; next: test it`.
    pub fn recap(&self) -> String {
        let all = self.steps.len();
        let next = self.next().map(|(_, next)| format!("next: {}", next.step));
        match (self.current(), next) {
            (Some((number, current)), Some(next)) => {
                format!("[{number}/{all}] in progress: {}; {next}", current.step)
            }
            (Some((number, current)), None) => format!("[{number}/{all}] in progress: {}", current.step),
            (None, Some(next)) => {
                let done = self.steps.iter().filter(|step| step.status == StepStatus::Completed).count();
                format!("[{done}/{all}] completed; {next}")
            }
            (None, None) => format!("[{all}/{all}] completed"),
        }
    }
}

impl fmt::Display for Plan {
    /// The whole plan, one line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        for (number, PlanStep { step, status }) in self.numbered() {
            writeln!(f, "{number}. [{status}] {step}")?;
        }
        for (what, lines) in [("Risk", &self.risks), ("Question", &self.questions)] {
            for line in lines {
                writeln!(f, "{what}: {line}")?;
            }
        }
        write!(f, "Done when: {}", self.completion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recap_says_where_a_plan_stands() {
        use StepStatus::{Completed, InProgress, Pending};
        for (statuses, expected) in [
            (vec![InProgress, Pending, Pending], "[1/3] in progress: a; next: b"),
            (vec![Completed, InProgress, Pending], "[2/3] in progress: b; next: c"),
            (vec![Completed, Completed, InProgress], "[3/3] in progress: c"),
            (vec![Completed, Pending, Pending], "[1/3] completed; next: b"),
            (vec![Completed, Completed, Completed], "[3/3] completed"),
        ] {
            let steps = ["a", "b", "c"].into_iter().zip(statuses);
            let steps = steps.map(|(step, status)| PlanStep { step: step.to_owned(), status }).collect();
            assert_eq!(Plan { steps, ..Plan::default() }.recap(), expected);
        }
    }
}
