//! The ways in which a task ends without an answer of the model, and what follows from each.
//!
//! Pure: an end becomes an event that names it, the last event of the agent, and an outcome whose words
//! are honest about what was done.

use std::time::Duration;

use protocol::event::{AgentFailure, ControlLimitReached, ProgressStalled};
use protocol::{EventBody, Outcome, millis};

use crate::breaker::Paused;
use crate::budget::{Limit, Limits};
use crate::model::ModelError;
use crate::partial_answer;
use crate::repetition::EQUAL_TURNS;
use crate::retry;
use crate::task_progress::TaskProgress;
use crate::tool_client::ToolServerError;

/// Why a task ended without an answer of the model.
#[derive(Debug)]
pub(crate) enum StopReason {
    Limit(Limit),
    /// The same calls brought the same results turn after turn.
    Stalled,
    Cancelled,
    Model(ModelError),
    /// The model's provider failed too often and is left alone for a while.
    Paused(Paused),
    Tools(ToolServerError),
}

/// How a task ends.
pub(crate) struct TaskEnd {
    pub(crate) last_event: LastEvent,
    pub(crate) outcome: Outcome,
}

/// The agent's last event, without its totals.
pub(crate) enum LastEvent {
    /// There is an answer: `answer`, or a partial one after `limit` or `stalled`.
    Completed(&'static str),
    Failed(AgentFailure),
}

impl From<ModelError> for StopReason {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<Paused> for StopReason {
    fn from(paused: Paused) -> Self {
        Self::Paused(paused)
    }
}

impl From<ToolServerError> for StopReason {
    fn from(error: ToolServerError) -> Self {
        Self::Tools(error)
    }
}

impl StopReason {
    /// The event that names the end, for the ends that have one of their own.
    pub(crate) fn event(&self, limits: &Limits) -> Option<EventBody> {
        match self {
            Self::Limit(limit) => {
                let (limit, value) = (limit.as_str().to_owned(), limits.describe(*limit));
                Some(ControlLimitReached { limit, value }.into())
            }
            Self::Stalled => Some(ProgressStalled { equal_turns: EQUAL_TURNS }.into()),
            Self::Cancelled | Self::Model(_) | Self::Paused(_) | Self::Tools(_) => None,
        }
    }

    /// How the task ends.
    pub(crate) fn ending(&self, limits: &Limits, progress: &TaskProgress) -> TaskEnd {
        match self {
            Self::Limit(limit) => {
                TaskEnd::partial("limit", partial_answer::at_limit(limits, *limit, progress))
            }
            Self::Stalled => TaskEnd::partial("stalled", partial_answer::stalled(progress)),
            Self::Cancelled => TaskEnd {
                last_event: LastEvent::Failed(AgentFailure::Ended { end: "cancelled".to_owned() }),
                outcome: Outcome::Cancelled { reply: partial_answer::cancelled(progress) },
            },
            Self::Model(error) => {
                let again = retry::is_retryable(error).then(|| error.retry_after.unwrap_or_default());
                TaskEnd::failure(
                    &partial_answer::of_model_error(error),
                    error.class.as_str(),
                    again,
                    progress,
                )
            }
            Self::Paused(paused) => TaskEnd::failure(
                &partial_answer::of_pause(paused),
                paused.class.as_str(),
                Some(paused.wait),
                progress,
            ),
            Self::Tools(error) => TaskEnd::failure(&error.to_string(), "tool_server", None, progress),
        }
    }
}

impl TaskEnd {
    /// The model answered.
    pub(crate) fn answer(reply: String) -> Self {
        Self::partial("answer", reply)
    }

    fn partial(end: &'static str, reply: String) -> Self {
        Self { last_event: LastEvent::Completed(end), outcome: Outcome::Done { reply } }
    }

    /// `again` is after how long another attempt can help, none if it never can.
    fn failure(error: &str, error_class: &str, again: Option<Duration>, progress: &TaskProgress) -> Self {
        let after = again.filter(|wait| !wait.is_zero());
        let retry_after_ms = after.map(millis);
        let error_told = partial_answer::failed(error, progress);
        Self {
            last_event: LastEvent::Failed(AgentFailure::Error {
                error: error.to_owned(),
                error_class: error_class.to_owned(),
            }),
            outcome: Outcome::Failed { error: error_told, retryable: again.is_some(), retry_after_ms },
        }
    }
}
