//! Decides what happens to a task after an attempt, and which events a worker may record; pure functions.

use std::time::Duration;

use protocol::{EventBody, Outcome};
use store::attempt::Ending;
use texts::{Language, Text};

use crate::config::TaskSettings;

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause that a worker may ask for.
const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(300);

/// A try of a task that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Try {
    /// Counted from 1 since the task was put into the queue.
    pub(crate) number: u32,
    /// How long its tries have failed by what they need, such as the model; none if the task itself may have
    /// ended its worker: such tries are only counted.
    pub(crate) failing_for: Option<Duration>,
    /// That of its chat.
    pub(crate) language: Language,
}

/// What becomes of a task whose try ended so. `jitter` lies between 0 and 1.
pub(crate) fn ending(outcome: Outcome, tried: Try, settings: &TaskSettings, jitter: f64) -> Ending {
    let attempt = tried.number;
    let again = attempt < settings.max_attempts
        || tried.failing_for.is_some_and(|failing_for| failing_for < settings.retry_for);
    match outcome {
        Outcome::Done { reply, format } => Ending::Done { reply, format },
        Outcome::Cancelled { reply } => Ending::Cancelled { reply },
        Outcome::Parked(parked) => Ending::Parked(parked),
        Outcome::Failed { error, retryable: true, retry_after_ms, .. } if again => {
            let asked = Duration::from_millis(retry_after_ms.unwrap_or(0)).min(LONGEST_ASKED_PAUSE);
            Ending::Retry { error, after: pause(settings.retry_base, attempt, jitter).max(asked) }
        }
        Outcome::Failed { error, told, .. } => {
            Ending::Dead { reply: failure_reply(told.as_ref().unwrap_or(&error), tried), error }
        }
    }
}

/// The name of an ending, for the log.
pub(crate) fn name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done { .. } => "done",
        Ending::Cancelled { .. } => "cancelled",
        Ending::Retry { .. } => "retry",
        Ending::Parked(_) => "parked",
        Ending::Dead { .. } => "dead",
    }
}

/// The nouns of the events that the worker records.
const WORKERS_NOUNS: [&str; 9] =
    ["agent", "context", "turn", "model_request", "plan", "control", "progress", "retry", "circuit"];

/// Whether the worker may record this event, one of a newer type included. What the supervisor and the tool
/// server do, they record themselves, and the worker is not believed about it.
pub(crate) fn is_for_the_worker_to_tell(body: &EventBody) -> bool {
    let noun = body.event_type().split_once('.').map(|(noun, _)| noun);
    noun.is_some_and(|noun| WORKERS_NOUNS.contains(&noun))
}

/// Doubles with each attempt, give or take a quarter, so that what failed together is not retried together.
fn pause(base: Duration, attempt: u32, jitter: f64) -> Duration {
    let doubled = base.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1).min(16)));
    doubled.min(LONGEST_PAUSE).mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0).min(LONGEST_PAUSE)
}

fn failure_reply(error: &str, tried: Try) -> String {
    let text = match tried.number {
        1 => Text::TaskFailed { error },
        tries => Text::TaskFailedAfter { tries: tries.into(), error },
    };
    text.to(tried.language)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: TaskSettings = TaskSettings {
        max_attempts: 3,
        retry_for: Duration::ZERO,
        retry_base: Duration::from_secs(2),
        max_wall_time: Duration::from_secs(600),
    };

    fn failed(retryable: bool) -> Outcome {
        Outcome::Failed { error: "no luck".to_owned(), told: None, retryable, retry_after_ms: None }
    }

    fn counted(number: u32) -> Try {
        Try { number, failing_for: None, language: Language::English }
    }

    #[test]
    fn a_failure_is_retried_until_no_attempt_is_left() {
        for (attempt, expected) in [(1, "retry"), (2, "retry"), (3, "dead"), (4, "dead")] {
            assert_eq!(name(&ending(failed(true), counted(attempt), &SETTINGS, 0.5)), expected, "{attempt}");
        }
    }

    #[test]
    fn what_a_task_needs_may_fail_for_a_while_and_a_task_that_ends_its_worker_is_counted() {
        let settings = TaskSettings { retry_for: Duration::from_secs(900), ..SETTINGS };
        for (number, failing_for, expected) in [
            (1, Some(5000), "retry"),
            (3, Some(0), "retry"),
            (30, Some(899), "retry"),
            (30, Some(900), "dead"),
            (3, None, "dead"),
        ] {
            let failing_for = failing_for.map(Duration::from_secs);
            let tried = Try { failing_for, ..counted(number) };
            assert_eq!(name(&ending(failed(true), tried, &settings, 0.5)), expected, "{tried:?}");
        }
    }

    #[test]
    fn a_failure_that_another_attempt_cannot_help_is_final_at_once() {
        assert_eq!(name(&ending(failed(false), counted(1), &SETTINGS, 0.5)), "dead");
    }

    #[test]
    fn a_retry_does_not_come_before_it_can_help() {
        let after = |retry_after_ms| {
            let error = "paused".to_owned();
            let outcome = Outcome::Failed { error, told: None, retryable: true, retry_after_ms };
            match ending(outcome, counted(1), &SETTINGS, 0.5) {
                Ending::Retry { after, .. } => after.as_millis(),
                other => panic!("no retry but {}", name(&other)),
            }
        };
        let waits = [None, Some(1), Some(30_000), Some(u64::MAX)].map(after);
        assert_eq!(waits, [2000, 2000, 30_000, 300_000]);
    }

    #[test]
    fn the_pause_doubles_with_jitter_and_stays_below_a_minute() {
        let base = Duration::from_secs(2);
        let middle: Vec<u64> = (1..=8).map(|attempt| pause(base, attempt, 0.5).as_secs()).collect();
        assert_eq!(middle, [2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause(base, 1, 0.0), Duration::from_millis(1500));
        assert_eq!(pause(base, 1, 1.0), Duration::from_millis(2500));
        assert_eq!(pause(base, 40, 1.0), LONGEST_PAUSE);
    }

    #[test]
    fn the_worker_tells_what_it_did_itself_and_nothing_else() {
        for (event_type, is_its_own) in [
            ("plan.created", true),
            ("model_request.completed", true),
            ("turn.of_a_newer_version", true),
            ("tool_call.started", false),
            ("tool_call.interrupted", false),
            ("approval.granted", false),
            ("task.done", false),
            ("planned", false),
        ] {
            let body = EventBody::new(event_type.to_owned(), serde_json::Value::Null);
            assert_eq!(is_for_the_worker_to_tell(&body), is_its_own, "{event_type}");
        }
    }

    #[test]
    fn the_user_is_told_what_went_wrong_and_how_often() {
        let Ending::Dead { reply, .. } = ending(failed(true), counted(3), &SETTINGS, 0.5) else {
            panic!("not dead")
        };
        assert!(reply.contains("no luck") && reply.contains("3 times"), "{reply}");
    }
}
