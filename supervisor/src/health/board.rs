//! Where the newest reading of each part is kept, with the time since when it has been so.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::now_ms;
use toolkit::locked;

use super::{Part, PartName, PartState, Reading, Report};

/// The readings; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    entries: Arc<Mutex<BTreeMap<PartName, Entry>>>,
    /// Whether changes are logged: not while everything is still starting.
    is_announced: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Entry {
    reading: Reading,
    since_ms: i64,
    succeeded_ms: Option<i64>,
}

impl Board {
    /// Keeps a reading, and logs it if the part's state is another than before.
    pub(crate) fn set(&self, name: PartName, reading: Reading) {
        let mut entries = self.entries();
        let before = entries.get(&name);
        let has_changed = before.is_none_or(|entry| entry.reading.state != reading.state);
        let since_ms = before.filter(|_| !has_changed).map_or_else(now_ms, |entry| entry.since_ms);
        let succeeded_ms = before.and_then(|entry| entry.succeeded_ms);
        let succeeded_ms = if reading.is_success { Some(now_ms()) } else { succeeded_ms };
        let entry = Entry { reading, since_ms, succeeded_ms };
        if has_changed && self.is_announced.load(Ordering::Relaxed) {
            log_part(&entry.part(name.clone(), now_ms()));
        }
        entries.insert(name, entry);
    }

    /// All parts of which something is known.
    pub(crate) fn report(&self) -> Report {
        let now = now_ms();
        Report::of(self.entries().iter().map(|(name, entry)| entry.part(name.clone(), now)).collect())
    }

    pub(crate) fn part(&self, name: PartName) -> Option<Part> {
        self.entries().get(&name).map(|entry| entry.part(name, now_ms()))
    }

    /// Logs each part that is known, and from now on what changes.
    pub(crate) fn announce(&self) {
        self.is_announced.store(true, Ordering::Relaxed);
        for part in self.report().parts {
            log_part(&part);
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<PartName, Entry>> {
        locked(&self.entries)
    }
}

impl Entry {
    fn part(&self, name: PartName, now_ms: i64) -> Part {
        let Reading { state, detail, remedy, failed_until_ms, .. } = &self.reading;
        let success = self.succeeded_ms.filter(|_| name.is_remote());
        let success = success.map(|at_ms| format!("; last success {} s ago", (now_ms - at_ms) / 1000));
        let is_over = failed_until_ms.is_some_and(|until_ms| until_ms <= now_ms);
        Part {
            name,
            state: if is_over && *state == PartState::Failed { PartState::Degraded } else { *state },
            since_ms: self.since_ms,
            detail: format!("{detail}{}", success.unwrap_or_default()),
            remedy: remedy.clone(),
        }
    }
}

fn log_part(part: &Part) {
    let (name, detail, remedy) = (&part.name, &part.detail, part.remedy.as_deref());
    match part.state {
        PartState::Ok | PartState::Off => tracing::info!(part = %name, "{detail}"),
        PartState::Degraded => tracing::warn!(part = %name, remedy, "degraded: {detail}"),
        PartState::Failed => tracing::error!(part = %name, remedy, "failed: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use channel::ChannelName;

    use super::*;

    #[test]
    fn a_part_keeps_the_time_of_its_last_change_of_state() {
        let board = Board::default();
        board.set(PartName::Disk, Reading::ok("much"));
        let since = board.part(PartName::Disk).unwrap().since_ms;
        board.set(PartName::Disk, Reading::ok("less"));
        let part = board.part(PartName::Disk).unwrap();
        assert_eq!((part.since_ms, part.detail.as_str()), (since, "less"));
        board.set(PartName::Disk, Reading::failed("none", "Free some."));
        assert_eq!(board.part(PartName::Disk).unwrap().state, PartState::Failed);
    }

    #[test]
    fn only_what_replies_need_makes_it_unready() {
        let board = Board::default();
        assert!(board.report().ready);
        board.set(PartName::Commands, Reading::failed("no namespaces", "Allow them."));
        board.set(PartName::Channel(ChannelName::new("test")), Reading::off("not set"));
        board.set(PartName::Disk, Reading::degraded("little", "Free some."));
        assert!(board.report().ready);
        board.set(PartName::Workers, Reading::failed("none", "See the log."));
        assert!(!board.report().ready);
    }

    #[test]
    fn a_channel_is_a_part_by_its_name_between_those_that_a_message_passes_before_and_after() {
        let board = Board::default();
        let name = PartName::Channel(ChannelName::new("test"));
        for name in [PartName::Model, name.clone(), PartName::ToolServer] {
            board.set(name, Reading::failed("none", "See the log."));
        }
        let written = serde_json::to_value(board.report()).unwrap();
        let names: Vec<_> = written["parts"].as_array().unwrap().iter().map(|part| &part["name"]).collect();
        assert_eq!(names, ["tool_server", "test", "model"]);
        let read: Report = serde_json::from_value(written).unwrap();
        assert_eq!(read.parts[1].name, name);
    }

    #[test]
    fn a_failure_that_ends_by_itself_is_only_a_doubt_afterwards() {
        let board = Board::default();
        for (until_ms, ready) in [(now_ms() + 60_000, false), (now_ms(), true)] {
            board.set(PartName::Model, Reading::failed("it pauses", "Wait.").until(until_ms));
            assert_eq!(board.report().ready, ready);
        }
        assert_eq!(board.part(PartName::Model).unwrap().state, PartState::Degraded);
    }
}
