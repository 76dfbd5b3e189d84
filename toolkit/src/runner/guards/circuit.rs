//! The circuit breaker: a tool that keeps failing is paused for the session that it fails in.
//!
//! A tool that needs other machines is paused only for the machine that fails: three dead links stop no other
//! page. Only real failures count: time-outs, I/O, the server's own mistakes. A caller's mistakes never do,
//! and neither does a command that ran into its own deadline. Other sessions go on.

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

/// The most circuits that are watched, whatever is asked: beyond it the one that ends soonest is forgotten.
const MAX_CIRCUITS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Circuits(Mutex<HashMap<Circuit, Breaker>>);

/// What can fail by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Circuit {
    session: SessionId,
    tool: String,
    /// The machine that its calls need; none if they need only this one.
    machine: Option<String>,
}

impl Guard for Circuits {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        self.admit(&Circuit::of(&call.info), call.info.since).into()
    }

    fn ended(&self, call: &CallInfo, envelope: &Envelope) {
        self.settle(Circuit::of(call), envelope.meta.error.as_ref(), Instant::now());
    }
}

impl Circuit {
    fn of(call: &CallInfo) -> Self {
        Self { session: call.ids.session.clone(), tool: call.tool.clone(), machine: call.depends_on.clone() }
    }
}

impl Circuits {
    fn admit(&self, circuit: &Circuit, now: Instant) -> Result<(), ToolError> {
        let mut circuits = locked(&self.0);
        let Some(breaker) = circuits.get_mut(circuit) else { return Ok(()) };
        if breaker.admit(now).map_err(|wait| paused(circuit, wait))?.is_some() {
            tracing::info!(?circuit, "the pause of the tool is over: one call probes it");
        }
        Ok(())
    }

    /// Takes note of how a call ended. If it was another machine than the call's own that failed, as behind a
    /// redirect, the own one works.
    fn settle(&self, circuit: Circuit, error: Option<&ToolError>, now: Instant) {
        let failed_at = error.and_then(|error| error.failed_at.clone());
        match (error, failed_at) {
            (Some(error), Some(machine)) if circuit.machine.as_ref() != Some(&machine) => {
                let other = Circuit { machine: Some(machine), ..circuit.clone() };
                self.note(circuit, Verdict::Succeeded, now);
                self.note(other, verdict(error), now);
            }
            (error, _) => self.note(circuit, error.map_or(Verdict::Succeeded, verdict), now),
        }
    }

    fn note(&self, circuit: Circuit, verdict: Verdict, now: Instant) {
        let mut circuits = locked(&self.0);
        match verdict {
            Verdict::Succeeded => drop(circuits.remove(&circuit)),
            Verdict::Inconclusive => {
                let _ = circuits.get_mut(&circuit).and_then(|breaker| breaker.settle(verdict, now));
            }
            Verdict::Failed => {
                if !circuits.contains_key(&circuit) {
                    make_room(&mut circuits, now);
                }
                let breaker =
                    circuits.entry(circuit.clone()).or_insert(Breaker::new(FAILURES_TO_OPEN, OPEN_FOR));
                if breaker.settle(verdict, now).is_some() {
                    tracing::warn!(?circuit, "the tool keeps failing and is paused for this session");
                }
            }
        }
    }
}

/// Forgets, at the bound, what refuses nothing; if all refuse, the one whose pause ends first.
fn make_room(circuits: &mut HashMap<Circuit, Breaker>, now: Instant) {
    if circuits.len() < MAX_CIRCUITS {
        return;
    }
    circuits.retain(|_, breaker| breaker.wait(now).is_some());
    if circuits.len() >= MAX_CIRCUITS {
        let first = circuits.iter().min_by_key(|(_, breaker)| breaker.wait(now));
        if let Some(first) = first.map(|(circuit, _)| circuit.clone()) {
            circuits.remove(&first);
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

fn paused(circuit: &Circuit, wait: Duration) -> ToolError {
    let seconds = wait.as_secs().max(1);
    let tool = &circuit.tool;
    let (at, hint) = match &circuit.machine {
        None => (String::new(), ErrorCode::CircuitOpen.hint()),
        Some(machine) => {
            (format!(" at {machine}"), "Use another host meanwhile, or wait as long as Retry-After says.")
        }
    };
    let message = format!(
        "`{tool}` failed {FAILURES_TO_OPEN} times{at} in this session and is paused{at} for {seconds} s."
    );
    ToolError::new(ErrorCode::CircuitOpen, message).with_hint(hint).with_retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: ErrorCode) -> ToolError {
        ToolError::new(code, "")
    }

    fn circuit(session: &str, machine: Option<&str>) -> Circuit {
        let machine = machine.map(str::to_owned);
        Circuit { session: session.parse().unwrap(), tool: "ls".to_owned(), machine }
    }

    fn refused(circuits: &Circuits, session: &str, now: Instant) -> bool {
        circuits.admit(&circuit(session, None), now).is_err()
    }

    fn settle(circuits: &Circuits, error: Option<ErrorCode>, now: Instant) {
        circuits.settle(circuit("s", None), error.map(failure).as_ref(), now);
    }

    #[test]
    fn a_machine_that_fails_pauses_only_what_needs_it() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        let (dead, fine) = (circuit("s", Some("dead:80")), circuit("s", Some("fine:80")));
        (0..3).for_each(|_| circuits.settle(dead.clone(), Some(&failure(ErrorCode::IoError)), now));
        let error = circuits.admit(&dead, now).unwrap_err();
        assert!(error.message.contains("at dead:80") && error.hint.contains("another host"), "{error:?}");
        for other in [&fine, &circuit("s", None), &circuit("other", Some("dead:80"))] {
            assert!(circuits.admit(other, now).is_ok(), "{other:?}");
        }
    }

    #[test]
    fn a_redirect_to_a_dead_machine_blames_that_one() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        let (asked, dead) = (circuit("s", Some("asked:80")), circuit("s", Some("dead:80")));
        let error = ToolError { failed_at: Some("dead:80".to_owned()), ..failure(ErrorCode::IoError) };
        (0..3).for_each(|_| circuits.settle(asked.clone(), Some(&error), now));
        assert!(circuits.admit(&asked, now).is_ok() && circuits.admit(&dead, now).is_err());
    }

    #[test]
    fn no_number_of_machines_takes_more_than_a_bounded_memory() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        let name = |number: usize| circuit("s", Some(&format!("host-{number}:80")));
        for number in 0..MAX_CIRCUITS * 2 {
            (0..3).for_each(|_| circuits.settle(name(number), Some(&failure(ErrorCode::Timeout)), now));
        }
        assert_eq!(circuits.0.lock().unwrap().len(), MAX_CIRCUITS);
        assert!(circuits.admit(&name(MAX_CIRCUITS * 2 - 1), now).is_err(), "the newest is still watched");
        let later = now + OPEN_FOR;
        circuits.settle(circuit("s", Some("new:80")), Some(&failure(ErrorCode::Timeout)), later);
        assert_eq!(circuits.0.lock().unwrap().len(), 1, "what refuses nothing any more is forgotten");
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
        let error = circuits.admit(&circuit("s", None), now).unwrap_err();
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
        let (circuits, now) = (Circuits::default(), Instant::now());
        let error = ToolError { http_status: Some(200), ..failure(ErrorCode::Timeout) };
        (0..9).for_each(|_| circuits.settle(circuit("s", None), Some(&error), now));
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
