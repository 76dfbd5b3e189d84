//! The circuit breaker: a tool that keeps failing by itself is paused for the session that it fails in.
//!
//! Only real failures count: time-outs, I/O, the server's own mistakes. A caller's mistakes never do, and
//! neither does a command that ran into its own deadline. Other sessions go on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protocol::{ErrorClass, ErrorCode, SessionId, ToolError};

/// How many failures in a row open a circuit.
const FAILURES_TO_OPEN: u32 = 3;

/// How long it stays open before one call may try again.
const OPEN_FOR: Duration = Duration::from_secs(300);

/// The most circuits that are watched; beyond it those that are closed are forgotten.
const MAX_CIRCUITS: usize = 4096;

/// The circuits of all sessions.
#[derive(Debug, Default)]
pub(super) struct Circuits {
    circuits: Mutex<HashMap<(SessionId, String), Circuit>>,
}

/// One session's use of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Circuit {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One call is trying whether the tool works again.
    Probing {
        until: Instant,
    },
}

impl Circuits {
    /// Lets a call through, or says how long to wait.
    pub(super) fn admit(&self, session: &SessionId, tool: &str, now: Instant) -> Result<(), ToolError> {
        let mut circuits = self.circuits();
        let Some(circuit) = circuits.get_mut(&(session.clone(), tool.to_owned())) else { return Ok(()) };
        match *circuit {
            Circuit::Closed { .. } => Ok(()),
            Circuit::Open { until } | Circuit::Probing { until } if now < until => {
                Err(paused(tool, until - now))
            }
            Circuit::Open { .. } | Circuit::Probing { .. } => {
                *circuit = Circuit::Probing { until: now + OPEN_FOR };
                tracing::info!(%session, tool, "one call tries whether the tool works again");
                Ok(())
            }
        }
    }

    /// Takes note of how a call ended.
    pub(super) fn settle(&self, session: &SessionId, tool: &str, error: Option<&ToolError>, now: Instant) {
        let mut circuits = self.circuits();
        let key = (session.clone(), tool.to_owned());
        match error.map_or(Verdict::Works, verdict) {
            Verdict::Fails => {}
            Verdict::Works => {
                circuits.remove(&key);
                return;
            }
            Verdict::NotTried => {
                if let Some(circuit @ Circuit::Probing { .. }) = circuits.get_mut(&key) {
                    *circuit = Circuit::Open { until: now };
                }
                return;
            }
        }
        if circuits.len() >= MAX_CIRCUITS {
            circuits.retain(|_, circuit| !matches!(circuit, Circuit::Closed { .. }));
        }
        let circuit = circuits.entry(key).or_insert(Circuit::Closed { failures: 0 });
        *circuit = match *circuit {
            Circuit::Closed { failures } if failures + 1 < FAILURES_TO_OPEN => {
                Circuit::Closed { failures: failures + 1 }
            }
            Circuit::Closed { .. } | Circuit::Probing { .. } => {
                tracing::warn!(%session, tool, "the tool failed too often and is paused for this session");
                Circuit::Open { until: now + OPEN_FOR }
            }
            open @ Circuit::Open { .. } => open,
        };
    }

    fn circuits(&self) -> MutexGuard<'_, HashMap<(SessionId, String), Circuit>> {
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an end says of the tool.
enum Verdict {
    Works,
    Fails,
    /// The call was refused before it showed anything.
    NotTried,
}

fn verdict(error: &ToolError) -> Verdict {
    // A command that was ended at its own deadline did run: the tool works.
    if error.http_status == Some(200) {
        return Verdict::Works;
    }
    match (error.class, error.code) {
        (ErrorClass::Validation | ErrorClass::Policy, _) | (_, ErrorCode::Overloaded) => Verdict::NotTried,
        (ErrorClass::Timeout | ErrorClass::Unknown, _) | (_, ErrorCode::IoError) => Verdict::Fails,
        (ErrorClass::ToolExec, _) => Verdict::Works,
    }
}

fn paused(tool: &str, wait: Duration) -> ToolError {
    let seconds = wait.as_secs().max(1);
    let message =
        format!("`{tool}` failed {FAILURES_TO_OPEN} times in this session and is paused for {seconds} s.");
    ToolError::new(ErrorCode::CircuitOpen, message).with_retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: ErrorCode) -> ToolError {
        ToolError::new(code, "")
    }

    fn refused(circuits: &Circuits, session: &str, now: Instant) -> bool {
        circuits.admit(&session.parse().unwrap(), "ls", now).is_err()
    }

    fn settle(circuits: &Circuits, error: Option<ErrorCode>, now: Instant) {
        circuits.settle(&"s".parse().unwrap(), "ls", error.map(failure).as_ref(), now);
    }

    #[test]
    fn three_failures_of_its_own_pause_a_tool_for_one_session() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        for code in [ErrorCode::IoError, ErrorCode::Timeout, ErrorCode::Internal] {
            assert!(!refused(&circuits, "s", now));
            settle(&circuits, Some(code), now);
        }
        assert!(refused(&circuits, "s", now));
        assert!(!refused(&circuits, "other", now));
        let error = circuits.admit(&"s".parse().unwrap(), "ls", now).unwrap_err();
        assert_eq!(error.retry_after_seconds, Some(300));
    }

    #[test]
    fn a_callers_mistakes_never_count_and_a_success_starts_over() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        for _ in 0..9 {
            settle(&circuits, Some(ErrorCode::PathDenied), now);
            settle(&circuits, Some(ErrorCode::IoError), now);
            settle(&circuits, Some(ErrorCode::Overloaded), now);
            settle(&circuits, Some(ErrorCode::IoError), now);
            settle(&circuits, Some(ErrorCode::NotFound), now);
        }
        assert!(!refused(&circuits, "s", now));
    }

    #[test]
    fn a_command_that_ran_into_its_own_deadline_never_counts() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        let error = ToolError { http_status: Some(200), ..failure(ErrorCode::Timeout) };
        for _ in 0..9 {
            circuits.settle(&"s".parse().unwrap(), "ls", Some(&error), now);
        }
        assert!(!refused(&circuits, "s", now));
    }

    #[test]
    fn after_the_pause_one_call_probes_and_decides() {
        let (circuits, start) = (Circuits::default(), Instant::now());
        (0..3).for_each(|_| settle(&circuits, Some(ErrorCode::IoError), start));
        let later = start + OPEN_FOR;
        assert!(!refused(&circuits, "s", later), "the probe");
        assert!(refused(&circuits, "s", later), "no second one beside it");
        settle(&circuits, Some(ErrorCode::InvalidArgument), later);
        assert!(!refused(&circuits, "s", later), "a probe that was refused decides nothing");
        settle(&circuits, Some(ErrorCode::IoError), later);
        assert!(refused(&circuits, "s", later + Duration::from_secs(1)));
        let again = later + OPEN_FOR;
        assert!(!refused(&circuits, "s", again));
        settle(&circuits, None, again);
        assert!(!refused(&circuits, "s", again) && !refused(&circuits, "s", again));
    }
}
