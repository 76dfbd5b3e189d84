//! The circuit breaker: a tool that keeps failing is paused for the session that it fails in.
//!
//! Only real failures count: time-outs, I/O, the server's own mistakes. A caller's mistakes never do, and
//! neither does a command that ran into its own deadline. Other sessions go on.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use protocol::{Envelope, ErrorClass, ErrorCode, SessionId, ToolError};

use super::{Check, Guard};
use crate::breaker::{Breaker, Verdict};
use crate::locked;
use crate::runner::call::{CallInfo, PendingCall};

const FAILURES_TO_OPEN: u32 = 3;
const OPEN_FOR: Duration = Duration::from_secs(300);

/// The most circuits that are watched; beyond it those that are closed are forgotten.
const MAX_CIRCUITS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Circuits(Mutex<HashMap<(SessionId, String), Breaker>>);

impl Guard for Circuits {
    fn name(&self) -> &'static str {
        "circuit"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let info = &call.info;
        self.admit(&info.ids.session, &info.tool, info.since).into()
    }

    fn ended(&self, call: &CallInfo, envelope: &Envelope) {
        self.settle(&call.ids.session, &call.tool, envelope.meta.error.as_ref(), Instant::now());
    }
}

impl Circuits {
    fn admit(&self, session: &SessionId, tool: &str, now: Instant) -> Result<(), ToolError> {
        let mut circuits = locked(&self.0);
        let Some(circuit) = circuits.get_mut(&(session.clone(), tool.to_owned())) else { return Ok(()) };
        if circuit.admit(now).map_err(|wait| paused(tool, wait))?.is_some() {
            tracing::info!(%session, tool, "the pause of the tool is over: one call probes it");
        }
        Ok(())
    }

    fn settle(&self, session: &SessionId, tool: &str, error: Option<&ToolError>, now: Instant) {
        let mut circuits = locked(&self.0);
        let key = (session.clone(), tool.to_owned());
        match error.map_or(Verdict::Succeeded, verdict) {
            Verdict::Succeeded => drop(circuits.remove(&key)),
            Verdict::Inconclusive => {
                let _ = circuits.get_mut(&key).and_then(|circuit| circuit.settle(Verdict::Inconclusive, now));
            }
            Verdict::Failed => {
                if circuits.len() >= MAX_CIRCUITS {
                    circuits.retain(|_, circuit| !circuit.is_closed());
                }
                let circuit = circuits.entry(key).or_insert(Breaker::new(FAILURES_TO_OPEN, OPEN_FOR));
                if circuit.settle(Verdict::Failed, now).is_some() {
                    tracing::warn!(%session, tool, "the tool keeps failing and is paused for this session");
                }
            }
        }
    }
}

fn verdict(error: &ToolError) -> Verdict {
    // A command that was ended at its own deadline did run: the tool works.
    if error.http_status == Some(200) {
        return Verdict::Succeeded;
    }
    match (error.class, error.code) {
        // The call was refused before the tool could show anything.
        (ErrorClass::Validation | ErrorClass::Policy, _) | (_, ErrorCode::Overloaded) => {
            Verdict::Inconclusive
        }
        (ErrorClass::Timeout | ErrorClass::Unknown, _) | (_, ErrorCode::IoError) => Verdict::Failed,
        (ErrorClass::ToolExec, _) => Verdict::Succeeded,
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
        use ErrorCode::{IoError, NotFound, Overloaded, PathDenied};
        let (circuits, now) = (Circuits::default(), Instant::now());
        for code in [PathDenied, IoError, Overloaded, IoError, NotFound].repeat(9) {
            settle(&circuits, Some(code), now);
        }
        assert!(!refused(&circuits, "s", now));
    }

    #[test]
    fn a_command_that_ran_into_its_own_deadline_never_counts() {
        let (circuits, now, session) = (Circuits::default(), Instant::now(), "s".parse().unwrap());
        let error = ToolError { http_status: Some(200), ..failure(ErrorCode::Timeout) };
        (0..9).for_each(|_| circuits.settle(&session, "ls", Some(&error), now));
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
