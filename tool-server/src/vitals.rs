//! What can fail while the server runs, for `/readyz`: the journal's disk, and the two processes that were
//! forked at the start. The checks of the start are in [`crate::self_check`].

use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use process::log_queue;
use toolkit::locked;

use crate::journal::Journal;
use crate::self_check::Check;

/// How often the journal is tried.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A try that takes longer than this has failed.
const LONGEST_LOOK: Duration = Duration::from_secs(6);

/// How the parts are; shared by those that look and those that tell.
#[derive(Debug)]
pub struct Vitals(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Why the journal takes no records.
    journal: Option<String>,
    /// When the last try of the journal ended.
    looked: Instant,
    quiet: Vec<Part>,
}

/// A process that the server cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Spawner,
    Fetcher,
}

impl Part {
    const ALL: [Self; 2] = [Self::Spawner, Self::Fetcher];

    fn name(self) -> &'static str {
        match self {
            Self::Spawner => "spawner",
            Self::Fetcher => "fetcher",
        }
    }
}

impl Vitals {
    /// Looks after this journal from now on, on a thread of its own.
    pub fn watch(journal: &Arc<Journal>) -> io::Result<Arc<Self>> {
        let state = State { journal: None, looked: Instant::now(), quiet: Vec::new() };
        let vitals = Arc::new(Self(Mutex::new(state)));
        let (shared, journal) = (Arc::downgrade(&vitals), Arc::downgrade(journal));
        let look = move || {
            while let (Some(vitals), Some(journal)) = (shared.upgrade(), journal.upgrade()) {
                let trouble = journal.try_out().err().map(|error| error.to_string());
                let mut state = locked(&vitals.0);
                (state.journal, state.looked) = (trouble, Instant::now());
                drop(state);
                drop((vitals, journal));
                thread::sleep(LOOK_EVERY);
            }
        };
        thread::Builder::new().name("vitals".to_owned()).spawn(look)?;
        Ok(vitals)
    }

    /// Notes whether a process is quiet.
    pub(crate) fn note(&self, part: Part, is_quiet: bool) {
        let mut state = locked(&self.0);
        state.quiet.retain(|known| *known != part);
        state.quiet.extend(is_quiet.then_some(part));
    }

    /// Each part as a check; only without a journal nothing works.
    pub(crate) fn checks(&self) -> Vec<Check> {
        let state = locked(&self.0);
        let silent = state.looked.elapsed();
        let journal = match &state.journal {
            Some(trouble) => Err(format!("takes no records, so no tool runs: {trouble}")),
            None if silent > LONGEST_LOOK => Err(format!("gave no answer for {} s", silent.as_secs())),
            None => Ok("takes records"),
        };
        let mut checks = vec![check("journal", true, journal)];
        checks.extend(Part::ALL.map(|part| {
            let is_quiet = state.quiet.contains(&part);
            let found =
                if is_quiet { Err("gives no answer; the server ends if it stays so") } else { Ok("answers") };
            check(part.name(), false, found.map_err(str::to_owned))
        }));
        let log = log_queue::condition();
        let found = log.trouble.map_or(Ok("is written"), Err);
        let mut log_check = check("log", false, found);
        if log.dropped > 0 {
            log_check.detail += &format!("; dropped lines: {}", log.dropped);
        }
        checks.push(log_check);
        checks
    }
}

fn check(name: &'static str, required: bool, found: Result<&str, String>) -> Check {
    let ok = found.is_ok();
    Check { name, ok, required, detail: found.map_or_else(|trouble| trouble, str::to_owned) }
}
