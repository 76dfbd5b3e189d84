//! The kills: which process, and when.

use std::time::Duration;

use rustix::process::Signal;

use crate::{FakeTelegram, Random, System, signals, wait};

const CHILDREN: [&str; 2] = ["agent-worker", "tool-server"];

/// At most this many requests of the bot pass before the next action.
const MOST_REQUESTS: usize = 12;

/// After this long without a request, the system is down or waiting, which is as good a moment as any.
const QUIET: Duration = Duration::from_millis(400);

const BETWEEN_US: usize = 30_000;

#[derive(Debug, Default)]
pub(super) struct Kills {
    /// The supervisor, and its children with it.
    pub(super) supervisor: usize,
    pub(super) children: usize,
}

impl Kills {
    /// Kills the supervisor, the tool server or one of the workers. The supervisor is restarted at once, so
    /// the next kill may hit it while it starts; it restarts its children itself.
    pub(super) fn kill_one(&mut self, system: &mut System, random: &mut Random) {
        let living = system.children();
        let name = CHILDREN.get(random.below(CHILDREN.len() + 1));
        let named: Vec<_> =
            name.iter().flat_map(|name| living.iter().filter(|child| child.is(name))).collect();
        if !named.is_empty() {
            let child = named[random.below(named.len())];
            signals::send(child.pid, Signal::KILL);
            self.children += 1;
        } else {
            system.kill();
            system.start_again();
            self.supervisor += 1;
        }
    }
}

/// Waits for a random moment: a few requests, and then some time before the next one.
pub(super) fn random_moment(telegram: &FakeTelegram, random: &mut Random) {
    let target = telegram.requests() + random.below(MOST_REQUESTS);
    wait::is_true_within(QUIET, || telegram.requests() >= target);
    let between = u64::try_from(random.below(BETWEEN_US)).unwrap_or_default();
    wait::out(Duration::from_micros(between));
}
