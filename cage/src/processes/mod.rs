//! The background processes of all sessions: how many there may be, and which are whose.
//!
//! A session finds its own alone. One that has ended can still be read for a while. Nothing here starts a
//! process or knows the sandbox's guards.

mod kept;
mod live;
mod process;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use protocol::journal::{BackgroundProcessEnded, ProcessState};
use protocol::{ErrorCode, EventId, ToolError};
use toolkit::{Scope, locked};

pub use kept::{From, LookBack, Piece, Stream};
pub(crate) use live::Live;
pub(crate) use process::END_OF_INPUT;
pub use process::{About, End, Output, Process, Signal, Status, Stop};

/// The most processes of all sessions.
pub const MOST_OF_ALL: usize = 64;

/// How many that have ended are kept, of a session and of all.
const MOST_ENDED: usize = 8;
const MOST_ENDED_OF_ALL: usize = 32;

/// How long one that has ended is kept.
const KEEP_ENDED: Duration = Duration::from_secs(3600);

/// How long the processes may take to end with the server.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Called when a process has ended, before anyone else hears of it.
pub type OnEnd = Box<dyn Fn(&About, BackgroundProcessEnded) + Send + Sync>;

/// How many processes a session may have, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessLimits {
    /// The most of a session; 0 allows none.
    pub of_session: usize,
    /// How long one may run.
    pub time: Duration,
}

/// All background processes.
pub struct Processes {
    pub(crate) limits: ProcessLimits,
    on_end: OnEnd,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Oldest first.
    processes: Vec<Arc<Process>>,
    is_closed: bool,
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processes").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Processes {
    /// None yet.
    pub fn new(limits: ProcessLimits, on_end: OnEnd) -> Self {
        Self { limits, on_end, table: Mutex::default() }
    }

    /// No session may have any.
    pub(crate) fn none() -> Self {
        Self::new(ProcessLimits::default(), Box::new(|_, _| {}))
    }

    /// Takes the place of one that is about to start.
    ///
    /// # Errors
    /// `TOOL_NOT_ALLOWED` where there may be none, `QUOTA_EXCEEDED` if there are as many as may be.
    pub(crate) fn add(&self, about: About, output_path: String) -> Result<Arc<Process>, ToolError> {
        let most = self.limits.of_session;
        if most == 0 {
            let message = "Background processes are switched off (AUTONOUS_TOOL_MAX_PROCESSES).";
            let error = ToolError::new(ErrorCode::ToolNotAllowed, message);
            return Err(error.with_hint("Leave out `background` and `yield_after_seconds`."));
        }
        let mut table = self.table();
        if table.is_closed {
            return Err(ToolError::new(ErrorCode::Overloaded, "The server is ending."));
        }
        table.forget_old();
        let running = table.processes.iter().filter(|process| !process.has_ended());
        let (own, all) = running.fold((0, 0), |(own, all), process| {
            (own + usize::from(process.about.session == about.session), all + 1)
        });
        if own >= most {
            let message = format!("This session has {own} background processes, as many as it may.");
            let hint = "List them with process_list and end one with process_kill, or leave out `background` \
                        and `yield_after_seconds`.";
            return Err(ToolError::new(ErrorCode::QuotaExceeded, message).with_hint(hint));
        }
        if all >= MOST_OF_ALL {
            let message =
                format!("All sessions together have {all} background processes, as many as may be.");
            let hint = "Run the command without `background` and `yield_after_seconds`, or try again when \
                        others have ended.";
            return Err(ToolError::new(ErrorCode::QuotaExceeded, message).with_hint(hint));
        }
        let id = new_id(&about.call, |id| table.processes.iter().any(|process| process.id == id));
        let process = Arc::new(Process::new(id, about, output_path));
        table.processes.push(Arc::clone(&process));
        Ok(process)
    }

    /// Gives back the place of one that did not start, or that its call saw end.
    pub(crate) fn remove(&self, process: &Arc<Process>) {
        self.table().processes.retain(|other| !Arc::ptr_eq(other, process));
        process.finish(ProcessState::Killed, End::default());
    }

    /// A process has ended: records it, and then tells those who wait.
    pub(crate) fn finish(&self, process: &Process, ended: BackgroundProcessEnded, end: End) {
        let state = ended.state;
        (self.on_end)(&process.about, ended);
        process.finish(state, end);
    }

    /// Whether there can be any.
    pub fn are_allowed(&self) -> bool {
        self.limits.of_session > 0
    }

    /// The session's process of this name.
    ///
    /// # Errors
    /// `NOT_FOUND` for that of another session, too, and for a named token for that of another token.
    pub fn find(&self, scope: &Scope, id: &str) -> Result<Arc<Process>, ToolError> {
        let found = self.list(scope).into_iter().find(|process| process.id == id);
        found.ok_or_else(|| {
            let message = "This session has no background process of that ID.";
            let hint = "List them with process_list. Those of a server that was restarted are gone.";
            ToolError::new(ErrorCode::NotFound, message).with_hint(hint)
        })
    }

    /// The session's processes, oldest first; for a named token those that it has started.
    pub fn list(&self, scope: &Scope) -> Vec<Arc<Process>> {
        let mut table = self.table();
        table.forget_old();
        let token = scope.token();
        let own = table.processes.iter().filter(|process| {
            process.about.session == **scope && (token.is_none() || process.about.token.as_deref() == token)
        });
        own.filter(|process| process.is_shown()).cloned().collect()
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.table().processes.iter().filter(|process| !process.has_ended()).count()
    }

    /// Whether a process of the session and token runs.
    pub(crate) fn has_running(&self, scope: &Scope) -> bool {
        let table = self.table();
        let is_own = |about: &About| about.session == **scope && about.token.as_deref() == scope.token();
        table.processes.iter().any(|process| is_own(&process.about) && !process.has_ended())
    }

    /// Ends all of them, and lets none start any more.
    pub fn end_all(&self) {
        let all = {
            let mut table = self.table();
            table.is_closed = true;
            table.processes.clone()
        };
        all.iter().for_each(|process| process.stop(Stop::ServerEnd));
        let until = Instant::now() + LAST_PATIENCE;
        for process in all {
            if !process.ends_within(until.saturating_duration_since(Instant::now())) && process.is_shown() {
                tracing::error!(process_id = process.id, "a background process has not ended in time");
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        locked(&self.table)
    }
}

impl Table {
    /// Forgets processes that ended long ago, and the oldest where too many have ended.
    fn forget_old(&mut self) {
        let mut ended: Vec<(Instant, Arc<Process>)> = self
            .processes
            .iter()
            .filter_map(|process| Some((process.ended_at()?, Arc::clone(process))))
            .collect();
        ended.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut kept: Vec<Arc<Process>> = Vec::new();
        // One that ends meanwhile is not among them.
        let mut gone: Vec<Arc<Process>> = Vec::new();
        for (at, process) in ended {
            let own = kept.iter().filter(|other| other.about.session == process.about.session).count();
            let is_kept = at.elapsed() < KEEP_ENDED && own < MOST_ENDED && kept.len() < MOST_ENDED_OF_ALL;
            if is_kept { &mut kept } else { &mut gone }.push(process);
        }
        self.processes.retain(|process| !gone.iter().any(|other| Arc::ptr_eq(other, process)));
    }
}

/// A short name that no process of an earlier server is likely to have had.
fn new_id(call: &EventId, is_taken: impl Fn(&str) -> bool) -> String {
    let hash = protocol::hash::sha256(call.as_str().as_bytes());
    let starts = 0..hash.len() - ID_DIGITS;
    let names = starts.map(|start| format!("p-{}", &hash[start..start + ID_DIGITS]));
    names.into_iter().find(|name| !is_taken(name)).unwrap_or(hash)
}

const ID_DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(of_session: usize) -> Processes {
        let limits = ProcessLimits { of_session, time: Duration::from_secs(60) };
        Processes::new(limits, Box::new(|_, _| {}))
    }

    fn add(processes: &Processes, session: &str) -> Result<Arc<Process>, ToolError> {
        let (call, session) = (EventId::new(), session.parse().unwrap());
        let (token, task, command) = (None, None, "sleep 9".to_owned());
        let (tool, has_terminal) = ("bash", false);
        let about = About { call, session, token, task, tool, command, has_terminal };
        processes.add(about, String::new())
    }

    #[test]
    fn a_session_and_all_together_have_a_limit() {
        assert_eq!(add(&processes(0), "a").unwrap_err().code, ErrorCode::ToolNotAllowed);
        let few = processes(2);
        let first = add(&few, "a").unwrap();
        add(&few, "a").unwrap();
        assert_eq!(add(&few, "a").unwrap_err().code, ErrorCode::QuotaExceeded);
        add(&few, "b").unwrap();
        first.finish(ProcessState::Exited, End::default());
        add(&few, "a").unwrap();
        let many = processes(100);
        for number in 0..MOST_OF_ALL {
            add(&many, &format!("s{number}")).unwrap();
        }
        assert!(add(&many, "one-more").unwrap_err().message.contains("All sessions"));
    }

    #[test]
    fn one_that_ends_while_others_look_is_not_forgotten() {
        let all = processes(8);
        let ends = std::sync::Barrier::new(2);
        for _ in 0..2000 {
            let process = add(&all, "a").unwrap();
            process.show();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    ends.wait();
                    process.finish(ProcessState::Exited, End::default());
                });
                ends.wait();
                while !process.has_ended() {
                    all.running();
                    all.table().forget_old();
                }
            });
            let kept = all.table().processes.iter().any(|other| Arc::ptr_eq(other, &process));
            assert!(kept, "it ended, and nothing of it can be read");
        }
    }

    #[test]
    fn of_processes_that_have_ended_the_last_are_kept() {
        let all = processes(8);
        for _ in 0..MOST_ENDED + 3 {
            let process = add(&all, "a").unwrap();
            process.finish(ProcessState::Exited, End::default());
        }
        add(&all, "a").unwrap();
        assert_eq!(all.table().processes.len(), MOST_ENDED + 1);
        all.end_all();
        assert_eq!(add(&all, "a").unwrap_err().code, ErrorCode::Overloaded);
    }
}
