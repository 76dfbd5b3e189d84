//! What a task has done so far, kept outside the work itself.
//!
//! A limit or a person can drop the work at any await. This still says what was done and what was running,
//! so that the user gets an honest answer.

use std::fmt;

use protocol::{PastCall, PastCallStatus, Task};
use texts::{Language, Text};
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
    /// In which its user reads how the task ends.
    pub(crate) language: Language,
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
        let language = task.language.as_deref().and_then(Language::of_code).unwrap_or_default();
        Self { usage: spent.into(), earlier, language, ..Self::default() }
    }
}

impl CallRecord {
    pub(crate) fn running(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_owned(), outcome: None }
    }

    /// As one line, in a language.
    pub(crate) fn told(&self, language: Language) -> String {
        let shown = elide(&self.arguments, MAX_ARGUMENT_CHARS);
        let outcome = self.outcome.clone().unwrap_or_else(|| Text::OutcomeUnknown.to(language));
        format!("{} {shown}: {outcome}", self.name)
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
        f.write_str(&self.told(Language::English))
    }
}
