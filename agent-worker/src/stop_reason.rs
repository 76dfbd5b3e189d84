//! Why a task ends without an answer from the model, and what follows: an event that names the reason, the
//! agent's last event, and an outcome that says what was done. Pure.

use std::time::Duration;

use protocol::event::{AgentFailure, ControlLimitReached, ProgressStalled, Unreachable};
use protocol::{EventBody, Outcome, Parked, ReplyFormat, millis};
use texts::{Language, Text};

use crate::breaker::{FAILURES_TO_OPEN, Paused};
use crate::budget::{Limit, Limits};
use crate::model::ModelError;
use crate::partial_answer;
use crate::repetition::EQUAL_ROUNDS;
use crate::retry;
use crate::task_progress::TaskProgress;
use crate::tool_client::ToolServerError;

#[derive(Debug)]
pub(crate) enum StopReason {
    Limit(Limit),
    /// The same calls led to the same results, in rounds of this many turns.
    Stalled(usize),
    Cancelled,
    Model(ModelError),
    /// The model provider failed too often and is paused; with its server if that could not be reached.
    Paused(Paused, Option<Unreachable>),
    Tools(ToolServerError),
    /// Calls wait for a person.
    Parked(Box<Parked>),
}

pub(crate) struct TaskEnd {
    pub(crate) last_event: LastEvent,
    pub(crate) outcome: Outcome,
}

/// The agent's last event, without its totals.
pub(crate) enum LastEvent {
    /// There is an answer: `answer`, or a partial one after `limit` or `stalled`; or it is `parked`.
    Completed(&'static str),
    Failed(AgentFailure),
}

impl StopReason {
    /// The event that names the reason, if there is one for it.
    pub(crate) fn event(&self, limits: &Limits) -> Option<EventBody> {
        match self {
            Self::Limit(limit) => {
                let (limit, value) = (limit.as_str().to_owned(), limits.describe(*limit, Language::English));
                Some(ControlLimitReached { limit, value }.into())
            }
            Self::Stalled(cycle) => {
                let equal_turns = u32::try_from(cycle * EQUAL_ROUNDS).unwrap_or(u32::MAX);
                Some(ProgressStalled { equal_turns }.into())
            }
            Self::Cancelled | Self::Model(_) | Self::Paused(..) | Self::Tools(_) | Self::Parked(_) => None,
        }
    }

    pub(crate) fn end(&self, limits: &Limits, progress: &TaskProgress) -> TaskEnd {
        match self {
            Self::Limit(limit) => {
                TaskEnd::partial("limit", partial_answer::at_limit(limits, *limit, progress))
            }
            Self::Stalled(_) => TaskEnd::partial("stalled", partial_answer::stalled(progress)),
            Self::Cancelled => TaskEnd {
                last_event: LastEvent::Failed(AgentFailure::Ended { end: "cancelled".to_owned() }),
                outcome: Outcome::Cancelled { reply: partial_answer::cancelled(progress) },
            },
            Self::Model(error) => {
                let text = |language| match error.retry_after {
                    Some(wait) if error.class.is_transient() => {
                        let (error, seconds) = (&error.told(language), seconds(wait));
                        Text::ModelAsksToWait { error, seconds }.to(language)
                    }
                    Some(_) | None => error.told(language),
                };
                let again = retry::is_retryable(error).then(|| error.retry_after.unwrap_or_default());
                let class = (error.class.as_str(), error.unreachable.clone());
                TaskEnd::failed(text, class, again, progress)
            }
            Self::Paused(paused, server) => {
                let Paused { class, wait } = paused;
                let text = |language| {
                    let (failures, seconds) = (FAILURES_TO_OPEN.into(), seconds(*wait));
                    let error = &paused.told(server.as_ref(), language);
                    Text::ModelPaused { error, failures, seconds }.to(language)
                };
                TaskEnd::failed(text, (class.as_str(), server.clone()), Some(*wait), progress)
            }
            Self::Tools(error) => {
                TaskEnd::failed(|_| error.to_string(), ("tool_server", None), None, progress)
            }
            Self::Parked(parked) => TaskEnd {
                last_event: LastEvent::Completed("parked"),
                outcome: Outcome::Parked(parked.clone()),
            },
        }
    }
}

impl TaskEnd {
    /// The model's answer.
    pub(crate) fn answered(reply: String, format: ReplyFormat) -> Self {
        Self { last_event: LastEvent::Completed("answer"), outcome: Outcome::Done { reply, format } }
    }

    /// What was done, in our words: they name calls and files as they are.
    fn partial(end: &'static str, reply: String) -> Self {
        let outcome = Outcome::Done { reply, format: ReplyFormat::Plain };
        Self { last_event: LastEvent::Completed(end), outcome }
    }

    /// `unreachable` is a model's server that could not be reached. `again` is when another attempt can help;
    /// none if it never can.
    fn failed(
        error: impl Fn(Language) -> String,
        (error_class, unreachable): (&str, Option<Unreachable>),
        again: Option<Duration>,
        progress: &TaskProgress,
    ) -> Self {
        let in_words = |language| partial_answer::failed(&error(language), progress, language);
        let outcome = Outcome::Failed {
            error: in_words(Language::English),
            told: Some(progress.language).filter(|language| *language != Language::English).map(in_words),
            retryable: again.is_some(),
            retry_after_ms: again.filter(|wait| !wait.is_zero()).map(millis),
        };
        let (error, error_class) = (error(Language::English), error_class.to_owned());
        let failure = AgentFailure::Error { error, error_class, unreachable };
        Self { last_event: LastEvent::Failed(failure), outcome }
    }
}

/// Rounded up.
fn seconds(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)
}
