//! What a task has done so far, kept outside the work itself.
//!
//! A limit or a person can drop the work at any await. This still says what was done and what was running,
//! so that the user gets an honest answer.

use std::fmt;

use protocol::{PastCall, PastCallStatus, Task};
use toolkit::arguments::elide;

use crate::budget::TaskUsage;

/// The most characters of a call's arguments that are shown.
const MAX_ARGUMENT_CHARS: usize = 120;

#[derive(Debug, Default)]
pub(crate) struct TaskProgress {
    pub(crate) usage: TaskUsage,
    /// The tool calls of earlier attempts, in order.
    pub(crate) earlier: Vec<CallRecord>,
    /// The tool calls of this attempt, in the order in which they began.
    pub(crate) calls: Vec<CallRecord>,
    /// The last text that the model wrote beside its calls; may be empty.
    pub(crate) last_note: String,
    pub(crate) tools_answered: bool,
}

/// A tool call that began; displayed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// The tool's name, as the model wrote it.
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// How it ended: the status line of its result, or a word; none while it runs.
    pub(crate) outcome: Option<String>,
}

impl TaskProgress {
    pub(crate) fn new(task: &Task) -> Self {
        let spent = task.parked.as_ref().map(|parked| parked.spent).unwrap_or_default();
        let earlier = task.earlier.calls.iter().map(CallRecord::from).collect();
        Self { usage: spent.into(), earlier, ..Self::default() }
    }
}

impl CallRecord {
    pub(crate) fn running(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_owned(), outcome: None }
    }
}

impl From<&PastCall> for CallRecord {
    fn from(call: &PastCall) -> Self {
        let outcome = match call.status {
            PastCallStatus::Done => Some("done".to_owned()),
            PastCallStatus::Failed => Some("failed".to_owned()),
            PastCallStatus::Interrupted => None,
        };
        Self { outcome, ..Self::running(&call.tool_name, &call.arguments) }
    }
}

impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = elide(&self.arguments, MAX_ARGUMENT_CHARS);
        let outcome = self.outcome.as_deref().unwrap_or("was running, its outcome is unknown");
        write!(f, "{} {shown}: {outcome}", self.name)
    }
}
