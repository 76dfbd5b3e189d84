//! Decides when to restart a child; a pure decision over how its last runs ended.
//!
//! The delay is 50 ms after the first exit, doubles up to 5 s, and starts over after a run of 10 s. A child
//! that exits 5 times within 60 s without ever being ready is in a crash loop: this is reported once, and the
//! child is restarted with the longest delay.

use std::collections::VecDeque;
use std::time::Duration;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const SLOWEST_DELAY: Duration = Duration::from_secs(5);
const LIFE_THAT_RESETS: Duration = Duration::from_secs(10);
const LOOP_EXITS: usize = 5;
const LOOP_WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Exit {
    /// When, since the supervisor started.
    pub at: Duration,
    pub lived: Duration,
    pub was_ready: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restart {
    /// How long to wait before the next start.
    pub after: Duration,
    /// Whether this exit makes it a crash loop.
    pub loop_detected: bool,
}

/// Remembers one child's exits.
#[derive(Debug, Default)]
pub(crate) struct RestartPolicy {
    delay: Option<Duration>,
    early_exits: VecDeque<Duration>,
    looping: bool,
}

impl RestartPolicy {
    /// Records an exit and returns when to restart.
    pub(crate) fn after_exit(&mut self, exit: Exit) -> Restart {
        let loop_detected = self.notice_loop(exit);
        let begins_anew = exit.lived >= LIFE_THAT_RESETS;
        let delay = match self.delay {
            _ if self.looping => SLOWEST_DELAY,
            Some(last) if !begins_anew => (last * 2).min(SLOWEST_DELAY),
            Some(_) | None => FIRST_DELAY,
        };
        self.delay = Some(delay);
        Restart { after: delay, loop_detected }
    }

    fn notice_loop(&mut self, exit: Exit) -> bool {
        if exit.was_ready {
            self.early_exits.clear();
            self.looping = false;
            return false;
        }
        self.early_exits.push_back(exit.at);
        self.early_exits.retain(|at| exit.at.saturating_sub(*at) <= LOOP_WINDOW);
        let loops = self.early_exits.len() >= LOOP_EXITS;
        let newly = loops && !self.looping;
        self.looping |= loops;
        newly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(at_ms: u64, lived_ms: u64, was_ready: bool) -> Exit {
        Exit { at: Duration::from_millis(at_ms), lived: Duration::from_millis(lived_ms), was_ready }
    }

    #[test]
    fn the_pause_doubles_from_50_ms_to_5_s() {
        let mut policy = RestartPolicy::default();
        let pauses: Vec<u128> =
            (0..9).map(|_| policy.after_exit(exit(0, 1, true)).after.as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    }

    #[test]
    fn ten_seconds_of_life_begin_anew() {
        let mut policy = RestartPolicy::default();
        policy.after_exit(exit(0, 1, true));
        policy.after_exit(exit(0, 1, true));
        assert_eq!(policy.after_exit(exit(0, 10_000, true)).after, FIRST_DELAY);
    }

    #[test]
    fn five_exits_before_readiness_are_a_loop_that_is_told_once() {
        let mut policy = RestartPolicy::default();
        let told: Vec<bool> =
            (0..7).map(|n| policy.after_exit(exit(n * 1000, 10, false)).loop_detected).collect();
        assert_eq!(told, [false, false, false, false, true, false, false]);
        assert_eq!(policy.after_exit(exit(8000, 20_000, false)).after, SLOWEST_DELAY);
    }

    #[test]
    fn early_exits_that_lie_far_apart_are_no_loop() {
        let mut policy = RestartPolicy::default();
        assert!((0..9).all(|n| !policy.after_exit(exit(n * 20_000, 10, false)).loop_detected));
    }

    #[test]
    fn a_child_that_was_ready_again_has_left_the_loop() {
        let mut policy = RestartPolicy::default();
        for n in 0..5 {
            policy.after_exit(exit(n, 1, false));
        }
        assert_eq!(policy.after_exit(exit(9, 10_000, true)).after, FIRST_DELAY);
        assert!(!policy.after_exit(exit(10, 1, false)).loop_detected);
    }
}
