//! What a task has done so far, kept outside of the work itself.
//!
//! The work can be dropped at any await, by a limit or by a person. What is in here then still says
//! what was done and what was under way, so that the user gets an honest answer.

use std::fmt;

use protocol::{PastCall, PastCallStatus, Task};

use crate::budget::TaskUsage;

/// The most characters of a call's arguments that are told.
const MAX_ARGUMENT_CHARS: usize = 120;

/// What a task has done so far.
#[derive(Debug, Default)]
pub struct TaskProgress {
    /// What was used of the budget.
    pub usage: TaskUsage,
    /// What earlier attempts at the task did, in order.
    pub earlier: Vec<CallRecord>,
    /// The tool calls of this attempt, in the order in which they began.
    pub calls: Vec<CallRecord>,
    /// What the model said last beside its calls; may be empty.
    pub said: String,
    /// Whether the tool server has answered at all.
    pub tools_answered: bool,
}

/// A tool call that was begun. It shows as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
    /// How it ended: the status line of its result, or a word; none while it runs.
    pub outcome: Option<String>,
}

impl TaskProgress {
    /// The progress of a task before its first turn.
    pub fn of(task: &Task) -> Self {
        Self { earlier: task.earlier.calls.iter().map(CallRecord::from).collect(), ..Self::default() }
    }
}

impl From<&PastCall> for CallRecord {
    fn from(call: &PastCall) -> Self {
        let outcome = match call.status {
            PastCallStatus::Done => Some("done".to_owned()),
            PastCallStatus::Failed => Some("failed".to_owned()),
            PastCallStatus::Interrupted => None,
        };
        Self { name: call.tool_name.clone(), arguments: call.arguments.clone(), outcome }
    }
}

impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown: String = self.arguments.chars().take(MAX_ARGUMENT_CHARS).collect();
        if shown.len() < self.arguments.len() {
            shown.push('…');
        }
        let outcome = self.outcome.as_deref().unwrap_or("was running, its outcome is unknown");
        write!(f, "{} {shown}: {outcome}", self.name)
    }
}
