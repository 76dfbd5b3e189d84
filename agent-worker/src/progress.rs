//! What a task has done so far, kept outside of the work itself.
//!
//! The work can be dropped at any await, by a limit or by a person. What is in here then still says
//! what was done and what was under way, so that the user gets an honest answer.

use crate::budget::Spent;

/// What a task has done so far.
#[derive(Debug, Default)]
pub struct Progress {
    /// What was used of the budget.
    pub spent: Spent,
    /// The tool calls, in order.
    pub calls: Vec<CallMade>,
    /// What the model said last beside its calls; may be empty.
    pub said: String,
    /// Whether the tool server has answered at all.
    pub tools_answered: bool,
}

/// A tool call that was begun.
#[derive(Debug)]
pub struct CallMade {
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
    /// The status line of its result; none while it runs.
    pub outcome: Option<String>,
}
