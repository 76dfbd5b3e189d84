//! Waits for a state, with a deadline; the only place of the harness that sleeps.
//!
//! A test that waits for a fixed time is slow, or fails on a slower machine.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take on a machine that is busy with other tests.
pub const SOON: Duration = Duration::from_secs(30);

/// Sleeps, for a moment that depends on nothing.
pub fn out(time: Duration) {
    thread::sleep(time);
}

/// The pause between two looks; short compared with every deadline.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns what `look` finds; panics with `what` after [`SOON`].
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(SOON, look).unwrap_or_else(|| panic!("timed out after {SOON:?}: {what}"))
}

/// Waits like [`until`] until something is true.
pub fn until_true(what: &str, mut is_so: impl FnMut() -> bool) {
    until(what, || is_so().then_some(()));
}

/// Whether something becomes true within `deadline`.
pub fn is_true_within(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    within(deadline, || is_so().then_some(())).is_some()
}

/// Returns what `look` finds within `deadline`.
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
