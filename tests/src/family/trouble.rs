//! What happens to the programs meanwhile: kills, and breaks of the network.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{FakeTelegram, Random, System, signals, wait};

/// Between two of them.
const BETWEEN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Troubles {
    pub(super) supervisor_kills: usize,
    pub(super) child_kills: usize,
    pub(super) breaks: usize,
    /// When nothing could be shown: no supervisor, or no network.
    pub(super) outages: Vec<(Instant, Instant)>,
}

impl Troubles {
    /// Waits for a while, and makes one.
    pub(super) fn make_one(&mut self, system: &mut System, telegram: &FakeTelegram, random: &mut Random) {
        wait::out(BETWEEN + milliseconds(random, 3000));
        let from = Instant::now();
        match random.below(4) {
            0 => {
                system.kill();
                wait::out(milliseconds(random, 1500));
                system.restart();
                self.supervisor_kills += 1;
            }
            1 => {
                telegram.cut(true);
                wait::out(milliseconds(random, 4000));
                telegram.cut(false);
                self.breaks += 1;
            }
            2 => return self.kill_child(system, "tool-server", random),
            _ => return self.kill_child(system, "agent-worker", random),
        }
        self.outages.push((from, Instant::now()));
    }

    /// The chats still see that something runs.
    fn kill_child(&mut self, system: &System, name: &str, random: &mut Random) {
        let mut children = system.children();
        children.retain(|child| child.is(name));
        if !children.is_empty() {
            signals::send(children[random.below(children.len())].pid, Signal::KILL);
            self.child_kills += 1;
        }
    }
}

pub(super) fn milliseconds(random: &mut Random, most: usize) -> Duration {
    Duration::from_millis(u64::try_from(random.below(most)).unwrap_or_default())
}
