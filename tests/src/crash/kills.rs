//! The kills: which process is killed, and at which moment.

use std::time::Duration;

use rustix::process::Signal;

use crate::{FakeTelegram, Random, System, program, wait};

const CHILDREN: [&str; 2] = ["agent-worker", "tool-server"];

/// At most so many of the bot's requests are let through before something happens.
const MOST_REQUESTS: usize = 12;

/// No request for so long: the system is away or waits itself, which is as good a moment as any.
const QUIET: Duration = Duration::from_millis(400);

const BETWEEN_US: usize = 30_000;

#[derive(Debug, Default)]
pub(super) struct Kills {
    /// The supervisor, and its children with it.
    pub(super) supervisor: usize,
    pub(super) children: usize,
}

impl Kills {
    /// Kills one of the three processes. The supervisor is started again at once, so that the next kill
    /// may meet it while it starts; the children are its own to start.
    pub(super) fn kill_one(&mut self, system: &mut System, random: &mut Random) {
        let living = system.children();
        let name = CHILDREN.get(random.below(CHILDREN.len() + 1));
        let child = name.and_then(|name| living.iter().find(|process| process.is(name)));
        if let Some(child) = child {
            program::signal(child.pid, Signal::KILL);
            self.children += 1;
        } else {
            system.kill();
            system.start_again();
            self.supervisor += 1;
        }
    }
}

/// Lets a random moment come: a few requests later, and then somewhere before the next one.
pub(super) fn random_moment(telegram: &FakeTelegram, random: &mut Random) {
    let target = telegram.requests() + random.below(MOST_REQUESTS);
    wait::within(QUIET, || (telegram.requests() >= target).then_some(()));
    let between = u64::try_from(random.below(BETWEEN_US)).unwrap_or_default();
    wait::out(Duration::from_micros(between));
}
