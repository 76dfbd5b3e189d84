//! Waiting for a state, with a deadline; the only place of the harness that pauses.
//!
//! A test that waits for a time is either slow or wrong on a slower machine. This waits for what the
//! test really means and says so when it does not come.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything ordinary may take on a machine that is busy with other tests.
pub const SOON: Duration = Duration::from_secs(30);

/// Lets a random time pass, for a moment that hangs on nothing.
pub fn out(time: Duration) {
    thread::sleep(time);
}

/// How long to wait before looking again; short against every deadline.
const PAUSE: Duration = Duration::from_millis(10);

/// What `look` finds, as soon as it finds something; panics with `what` after [`SOON`].
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(SOON, look).unwrap_or_else(|| panic!("timed out after {SOON:?}: {what}"))
}

/// Waits as [`until`] does, for something to be so.
pub fn until_true(what: &str, mut is_so: impl FnMut() -> bool) {
    until(what, || is_so().then_some(()));
}

/// What `look` finds within `deadline`, if it does.
pub fn within<T>(deadline: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + deadline;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        thread::sleep(PAUSE);
    }
}
