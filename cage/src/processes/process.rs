//! One background process, as its session sees it: its state, its output, its input.
//!
//! The thread that supervises it is in [`crate::command`]; here is what that thread and the tools share.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use protocol::journal::{CreatedControlFile, ProcessState};
use protocol::{EventId, SessionId, TaskId, now_ms};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use sandbox::{Lifeline, Receivers};
use toolkit::locked;

use crate::network::WayOut;

use super::kept::{From, Kept, LookBack, Piece, Stream};

pub use rustix::process::Signal;

/// How often a reader that waits looks whether its caller is still there.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a terminal takes for the end of its input.
pub(crate) const END_OF_INPUT: &[u8] = b"\x04";

/// Whose process it is, and what it runs.
#[derive(Debug, Clone)]
pub struct About {
    /// The call that started it.
    pub call: EventId,
    /// The call's session.
    pub session: SessionId,
    /// The name of the call's token; none of the server's own.
    pub token: Option<String>,
    /// The call's task.
    pub task: Option<TaskId>,
    /// The call's tool.
    pub tool: &'static str,
    /// The command, in short.
    pub command: String,
    /// Whether it runs in a terminal.
    pub has_terminal: bool,
}

/// Why a process was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A call asked for it.
    Asked,
    /// Its time is over.
    Deadline,
    /// The call that still waited for it has lost its caller.
    CallerGone,
    /// The disk is nearly full.
    DiskFull,
    /// The commands of today have used up their time.
    Quota,
    /// The server ends.
    ServerEnd,
    /// Its output could not be read any more.
    Failed,
}

impl Stop {
    /// The same in words.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Asked => "process_kill ended it.",
            Self::Deadline => "It ran as long as it may (AUTONOUS_TOOL_MAX_PROCESS_SECONDS) and was killed.",
            Self::CallerGone => "Its caller disconnected, so it was killed.",
            Self::DiskFull => "It was killed because the disk is nearly full (AUTONOUS_TOOL_MIN_FREE_MB).",
            Self::Quota => "It was killed because the seconds of commands for today are used up.",
            Self::ServerEnd => "It was killed because the tool server ended.",
            Self::Failed => "It was killed because the tool server could not supervise it.",
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// As a shell would say it: 128 and the signal's number, if a signal ended it.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it was ended, if it did not end by itself.
    pub reason: Option<String>,
    /// What to say about it.
    pub notices: Vec<String>,
    /// What it left for other programs to execute.
    pub created_control_files: Vec<CreatedControlFile>,
    /// The hosts that it asked for and may not reach.
    pub network_refused: Vec<String>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

/// The state of a process at a moment.
#[derive(Debug, Clone)]
pub struct Status {
    /// Whether it runs.
    pub state: ProcessState,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// How much it has written.
    pub output_bytes: u64,
    /// The number of the last piece of its output.
    pub last_seq: u64,
}

/// Output of a process.
#[derive(Debug)]
pub struct Output {
    /// In order.
    pub pieces: Vec<Piece>,
    /// What was written before each of them.
    pub look_back: LookBack,
    /// How much before them is no longer there.
    pub dropped_bytes: u64,
    /// The state of the process then.
    pub status: Status,
}

/// A background process.
#[derive(Debug)]
pub struct Process {
    /// What its session calls it.
    pub id: String,
    /// Whose it is.
    pub about: About,
    /// When it began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// Where its whole output is.
    pub output_path: String,
    time: OnceLock<Duration>,
    shared: Mutex<Shared>,
    changed: Condvar,
    controls: Mutex<Controls>,
    stdin: Mutex<Option<File>>,
    /// None before it runs, and once it has ended.
    way_out: Mutex<Option<WayOut>>,
}

#[derive(Debug)]
struct Shared {
    state: ProcessState,
    is_shown: bool,
    kept: Kept,
    end: Option<(Instant, End)>,
}

#[derive(Debug, Default)]
struct Controls {
    lifeline: Option<Lifeline>,
    stop: Option<Stop>,
}

impl Process {
    pub(super) fn new(id: String, about: About, output_path: String) -> Self {
        let kept = Kept::default();
        Self {
            id,
            about,
            started_ms: now_ms(),
            output_path,
            time: OnceLock::new(),
            shared: Mutex::new(Shared { state: ProcessState::Running, is_shown: false, kept, end: None }),
            changed: Condvar::new(),
            controls: Mutex::default(),
            stdin: Mutex::default(),
            way_out: Mutex::default(),
        }
    }

    /// The process runs: what ends it and what writes to it. One that was to be ended before ends now.
    pub(crate) fn attach(&self, lifeline: Lifeline, stdin: Option<OwnedFd>) {
        // A process that does not read must not keep a writer waiting.
        let stdin = stdin.filter(|stdin| {
            fcntl_getfl(stdin).and_then(|flags| fcntl_setfl(stdin, flags | OFlags::NONBLOCK)).is_ok()
        });
        *locked(&self.stdin) = stdin.map(File::from);
        let mut controls = self.controls();
        if controls.stop.is_none() {
            controls.lifeline = Some(lifeline);
        }
    }

    /// Its session finds it from now on.
    pub(crate) fn show(&self) {
        self.shared().is_shown = true;
    }

    /// The number of the last piece of its output, and how much of each stream is in none yet.
    pub(crate) fn reached(&self) -> (u64, [usize; 2]) {
        let shared = self.shared();
        (shared.kept.last(), shared.kept.unfinished())
    }

    pub(crate) fn reaches_by(&self, way_out: WayOut) {
        *self.way_out() = Some(way_out);
    }

    /// The hosts that it has asked for so far and may not reach, and what to say about them.
    pub fn network_refused(&self) -> (Vec<String>, Option<String>) {
        let way_out = self.way_out().clone();
        way_out.map_or_else(Default::default, |way_out| way_out.refused())
    }

    fn way_out(&self) -> MutexGuard<'_, Option<WayOut>> {
        locked(&self.way_out)
    }

    pub(crate) fn set_time(&self, time: Duration) {
        let _ = self.time.set(time);
    }

    /// How long it may run.
    pub fn max_seconds(&self) -> u64 {
        self.time.get().map_or(0, Duration::as_secs)
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.shared().is_shown
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared().end.is_some()
    }

    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.shared().end.as_ref().map(|(at, _)| *at)
    }

    /// Kills it with all its processes. The first reason counts.
    pub fn stop(&self, stop: Stop) {
        let mut controls = self.controls();
        controls.stop.get_or_insert(stop);
        drop(controls.lifeline.take());
    }

    /// Why it was ended, if it was.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.controls().stop
    }

    /// Sends a signal, which its processes may ignore.
    pub fn signal(&self, signal: Signal, receivers: Receivers) {
        if let Some(lifeline) = &self.controls().lifeline {
            lifeline.signal(signal, receivers);
        }
    }

    pub(crate) fn add_output(&self, stream: Stream, block: &[u8]) {
        self.shared().kept.add(stream, block, Instant::now());
        self.changed.notify_all();
    }

    /// Makes what waits for the rest of a line readable, if it has waited for long.
    pub(crate) fn finish_lines(&self) {
        let mut shared = self.shared();
        let last = shared.kept.last();
        shared.kept.finish_lines(Instant::now(), false);
        if shared.kept.last() > last {
            self.changed.notify_all();
        }
    }

    /// No process of it is left.
    pub(crate) fn finish(&self, state: ProcessState, end: End) {
        drop(self.controls().lifeline.take());
        *self.way_out() = None;
        *locked(&self.stdin) = None;
        let mut shared = self.shared();
        shared.kept.finish_lines(Instant::now(), true);
        shared.state = state;
        shared.end.get_or_insert((Instant::now(), end));
        self.changed.notify_all();
    }

    /// Its state now.
    pub fn status(&self) -> Status {
        self.shared().status()
    }

    /// Its output from there on; waits for some, or for the process's end, as long as this says.
    pub fn read(&self, from: From, wait: Duration, is_wanted: impl Fn() -> bool) -> Output {
        let until = Instant::now() + wait;
        let mut shared = self.shared();
        let known = match from {
            From::After(seq) => seq,
            From::Tail(_) => shared.kept.last(),
        };
        while shared.kept.last() <= known && shared.end.is_none() && is_wanted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            shared = self.wait(shared, left);
        }
        let (pieces, dropped_bytes) = shared.kept.read(from);
        Output { pieces, look_back: shared.kept.look_back(), dropped_bytes, status: shared.status() }
    }

    /// Waits for its end; false if it does not come in time.
    pub fn ends_within(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        let mut shared = self.shared();
        while shared.end.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            shared = self.wait(shared, left);
        }
        true
    }

    fn wait<'a>(&self, shared: MutexGuard<'a, Shared>, left: Duration) -> MutexGuard<'a, Shared> {
        let waited = self.changed.wait_timeout(shared, left.min(LOOK_UP));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Writes to its stdin; how many bytes it took in time.
    ///
    /// # Errors
    /// `BrokenPipe` if it reads no more.
    pub fn write(&self, bytes: &[u8], wait: Duration) -> io::Result<usize> {
        let until = Instant::now() + wait;
        let mut stdin = locked(&self.stdin);
        let pipe = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut written = 0;
        while written < bytes.len() {
            match pipe.write(&bytes[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() || self.has_ended() {
                        break;
                    }
                    let mut watched = [PollFd::new(&*pipe, PollFlags::OUT)];
                    let _ = poll(&mut watched, Timespec::try_from(left.min(LOOK_UP)).ok().as_ref());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Closes its stdin, or says on its terminal that there is no more.
    pub fn close_input(&self) {
        if self.about.has_terminal {
            let _ = self.write(END_OF_INPUT, LOOK_UP);
            return;
        }
        *locked(&self.stdin) = None;
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        locked(&self.shared)
    }

    fn controls(&self) -> MutexGuard<'_, Controls> {
        locked(&self.controls)
    }
}

impl Shared {
    fn status(&self) -> Status {
        Status {
            state: self.state,
            end: self.end.as_ref().map(|(_, end)| end.clone()),
            output_bytes: self.kept.total_bytes(),
            last_seq: self.kept.last(),
        }
    }
}
