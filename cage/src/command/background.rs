//! Background processes: each is started as any other command is, and supervised by a thread of its own, to
//! its end.
//!
//! The thread reads all output, so that the process never waits for a reader for long, ends the process when
//! its time, the disk or the server ends, and looks for control files while no other command does.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use files::output_store::{OutputStore, SavedOutput, Spill};
use protocol::journal::{BackgroundProcessEnded, ProcessState};
use protocol::{ErrorCode, ToolError, millis};
use sandbox::{Exit, PendingExit, Running, SandboxError};
use toolkit::{Call, Outcome, Success};

use super::capture::Ends;
use super::ending::Ran;
use super::guarded::GuardedCommand;
use super::pipes::Pipes;
use super::quota::Reservation;
use super::report::{ControlFileReport, listed, notices_of};
use super::room::{Bound, Level};
use super::yielding::Waiting;
use super::{
    Begun, CommandData, CommandRequest, Commands, LINGER, MAX_STOP_TIME, POLL_INTERVAL,
    STOPPING_POLL_INTERVAL, TIGHT_POLL_INTERVAL, exit_code_of, name_of, sandbox_failed,
};
use crate::control_files::{Leaving, LeftBehind};
use crate::processes::{About, End, Process, Stop, Stream};

/// The largest file of an output: so much of as many processes as there may be fits into the output store.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// How long reading pauses after a full pipe. That lets a flood through at some 10 MB a second.
const FLOOD_PAUSE: Duration = Duration::from_millis(5);
const FULL_BLOCK: usize = 64 << 10;

/// How much of today's time of commands a process reserves at once.
const SLICE: Duration = Duration::from_secs(60);

/// How long control files may lie at most while nothing but background processes runs.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// A look takes at most one part in this many of the time of a process.
const LOOK_SHARE: u32 = 200;

impl Commands {
    /// Starts a command that outlives its call. `command` is its short form for lists.
    pub fn start_in_background(
        self: &Arc<Self>,
        call: &Call,
        request: CommandRequest,
        command: String,
    ) -> Outcome<CommandData> {
        let process = self.launch(call, request, command, None)?;
        Ok(self.started(&process))
    }

    /// Starts a command on a thread of its own; `waiting` is the call that waits for its end, if one does.
    pub(super) fn launch(
        self: &Arc<Self>,
        call: &Call,
        request: CommandRequest,
        command: String,
        waiting: Option<Arc<Waiting>>,
    ) -> Result<Arc<Process>, ToolError> {
        self.spawner()?;
        if request.leaving == Leaving::Kept {
            let message = "A command that may leave control files cannot run in the background.";
            let hint = "Leave out `background` or `allow_control_files`.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message).with_hint(hint));
        }
        let about = About {
            call: call.id.clone(),
            session: call.scope.session().clone(),
            token: call.scope.token().map(str::to_owned),
            task: call.task.clone(),
            tool: request.tool,
            command,
            has_terminal: request.has_terminal,
        };
        let output_name = self.workspaces.output_name(&call.scope, call.scope.token(), &call.id);
        let process = self.processes.add(about, self.output.path_of(&output_name))?;
        let (tell, answer) = sync_channel(1);
        let supervised = Supervised { commands: Arc::clone(self), process: Arc::clone(&process), waiting };
        let (call, name) = (call.without_sink(), output_name);
        let thread = thread::Builder::new().name("process".to_owned());
        thread.spawn(move || supervised.run(&call, request, &name, &tell)).map_err(|error| {
            tracing::error!(%error, "cannot start a thread for a background process");
            ToolError::new(ErrorCode::Overloaded, "The server cannot supervise another process.")
        })?;
        let lost = || ToolError::new(ErrorCode::Internal, "The background process could not be started.");
        answer.recv().map_err(|_| lost())??;
        Ok(process)
    }

    fn started(&self, process: &Process) -> Success<CommandData> {
        let notice = format!(
            "Background process {id} runs for at most {} s. Read its output with process_read, write to it \
             with process_write, end it with process_kill.",
            process.max_seconds(),
            id = process.id,
        );
        Success {
            data: CommandData {
                sandbox_tier: self.tier_name().to_owned(),
                process_id: Some(process.id.clone()),
                state: Some(process.status().state),
                ..CommandData::default()
            },
            stdout: format!("process_id: {}\n", process.id),
            stderr: Some(String::new()),
            notices: vec![notice],
            ..Success::default()
        }
    }

    /// The tier in which commands run.
    pub(super) fn tier_name(&self) -> &'static str {
        self.spawner.as_ref().map_or("", |spawner| name_of(spawner.spawner.tier()))
    }
}

/// A process on its thread. Whatever happens to the thread, the process does not stay.
struct Supervised {
    commands: Arc<Commands>,
    process: Arc<Process>,
    waiting: Option<Arc<Waiting>>,
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.process.stop(Stop::Failed);
        if !self.process.has_ended() {
            self.commands.processes.remove(&self.process);
        }
    }
}

impl Supervised {
    fn run(
        self,
        call: &Call,
        request: CommandRequest,
        output_name: &str,
        tell: &SyncSender<Result<(), ToolError>>,
    ) {
        let commands = &*self.commands;
        let time = request.timeout.min(commands.processes.limits.time);
        self.process.set_time(time);
        let begun = Slices::begin(commands, call).and_then(|slices| {
            let request = CommandRequest { timeout: time, ..request };
            Ok((slices, commands.begin(call, request, Some(&self.process.id))?))
        });
        let (slices, begun) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        self.supervise(call, slices, begun, (output_name, time), tell);
    }

    /// Looks after a process that was started, and says how it ended: to the call that waits for it, or to
    /// its session.
    fn supervise(
        &self,
        call: &Call,
        slices: Slices<'_>,
        begun: Begun<'_>,
        (output_name, time): (&str, Duration),
        tell: &SyncSender<Result<(), ToolError>>,
    ) {
        let (commands, process, waiting) = (&*self.commands, &self.process, self.waiting.as_deref());
        let Begun { running, guarded, bound, way_out, since } = begun;
        let Running { stdin, stdout, stderr, lifeline, exit, .. } = running;
        let about_room = bound.notice();
        process.reaches_by(way_out);
        process.attach(lifeline, stdin);
        if waiting.is_none() {
            process.show();
        }
        let _ = tell.send(Ok(()));
        let mut file = OutputFile::begin(&commands.output, output_name);
        let mut left = Vec::new();
        let has_ended = Supervision {
            commands,
            process,
            waiting,
            pipes: Pipes::of(stdout, stderr),
            file: &mut file,
            guarded: &guarded,
            slices,
            left: &mut left,
            bound,
            until: since + time,
            poll_interval: TIGHT_POLL_INTERVAL,
            next_look: Instant::now() + LOOK_INTERVAL,
        }
        .until_ended(&exit);
        let exit = has_ended.then(|| exit.wait().ok()).flatten();
        let report = report_of(guarded, &left);
        match waiting.and_then(Waiting::end) {
            Some((waiting, ends)) => {
                let ended = EndedInTime { call, exit, report, about_room, since, time };
                waiting.answer(ended.outcome(process, &ends, file));
                commands.processes.remove(process);
            }
            None => finish(commands, process, exit.as_ref(), report, file, since.elapsed()),
        }
    }
}

/// What it left, with what was found while it ran.
fn report_of(guarded: GuardedCommand<'_>, left: &[LeftBehind]) -> ControlFileReport {
    let quarantine = guarded.quarantine();
    let mut report = ControlFileReport::of(guarded);
    report.notices.splice(0..0, notices_of(left, &quarantine));
    report.files.splice(0..0, listed(left));
    report
}

/// A command that ended while its call still waited for it.
struct EndedInTime<'a> {
    call: &'a Call,
    exit: Option<Exit>,
    report: ControlFileReport,
    about_room: Option<String>,
    since: Instant,
    time: Duration,
}

impl EndedInTime<'_> {
    /// The answer of a command that never was in the background.
    fn outcome(self, process: &Process, ends: &Ends, file: OutputFile) -> Outcome<CommandData> {
        let exit = self.exit.ok_or_else(|| sandbox_failed(self.call, &SandboxError::NoReport))?;
        let text = ends.displayed();
        let saved = if text.is_cut() { file.finish() } else { file.discard() };
        Ran {
            text,
            saved,
            refused: process.network_refused(),
            about_room: self.about_room,
            about_state: None,
            control_files: self.report,
            stopped: process.stopped().filter(|_| exit.killed),
            duration: self.since.elapsed(),
            timeout: self.time,
        }
        .into_outcome(&exit)
    }
}

/// What a process has reserved of today's time of commands, a slice after the other.
struct Slices<'a> {
    commands: &'a Commands,
    call: &'a Call,
    current: Option<Reservation<'a>>,
    until: Instant,
}

impl<'a> Slices<'a> {
    fn begin(commands: &'a Commands, call: &'a Call) -> Result<Self, ToolError> {
        let mut slices = Self { commands, call, current: None, until: Instant::now() };
        slices.renew()?;
        Ok(slices)
    }

    /// Counts what was used, and reserves the next slice.
    fn renew(&mut self) -> Result<(), ToolError> {
        drop(self.current.take());
        let reserved = self.commands.quota.reserve(&self.call.scope, SLICE)?;
        self.until = Instant::now() + reserved.time;
        self.current = Some(reserved);
        Ok(())
    }

    fn are_used_up(&mut self) -> bool {
        Instant::now() >= self.until && self.renew().is_err()
    }
}

/// All that the thread of a process looks after.
struct Supervision<'a> {
    commands: &'a Commands,
    process: &'a Process,
    waiting: Option<&'a Waiting>,
    pipes: Pipes,
    file: &'a mut OutputFile,
    guarded: &'a GuardedCommand<'a>,
    slices: Slices<'a>,
    /// What was taken back while it ran.
    left: &'a mut Vec<LeftBehind>,
    bound: Bound,
    until: Instant,
    poll_interval: Duration,
    next_look: Instant,
}

impl Supervision<'_> {
    /// Reads its output until it has ended; false if it was killed and does not end.
    fn until_ended(mut self, exit: &PendingExit) -> bool {
        let mut give_up = None;
        loop {
            let is_stopped = self.process.stopped().is_some();
            let wait = if is_stopped { STOPPING_POLL_INTERVAL } else { self.poll_interval };
            let is_open = self.read(wait);
            if exit.is_there_within(if is_open { Duration::ZERO } else { wait }) {
                break;
            }
            if is_stopped {
                let give_up = *give_up.get_or_insert_with(|| Instant::now() + MAX_STOP_TIME);
                if Instant::now() >= give_up {
                    return false;
                }
            } else {
                self.stop_if_due();
                self.look_if_due();
            }
        }
        let until = Instant::now() + LINGER;
        while Instant::now() < until && self.read(STOPPING_POLL_INTERVAL) {}
        true
    }

    /// Takes what it writes, and pauses after a full pipe; false when it can write no more.
    fn read(&mut self, wait: Duration) -> bool {
        let (process, waiting, file) = (self.process, self.waiting, &mut *self.file);
        let mut is_flood = false;
        let is_open = self.pipes.read(wait, |stream: Stream, block| {
            file.write(block);
            match waiting {
                Some(waiting) => waiting.add_output(process, stream, block),
                None => process.add_output(stream, block),
            }
            is_flood |= block.len() >= FULL_BLOCK;
        });
        process.finish_lines();
        if is_flood && !waiting.is_some_and(Waiting::is_on) {
            thread::sleep(FLOOD_PAUSE);
        } else {
            file.flush();
        }
        is_open
    }

    fn stop_if_due(&mut self) {
        let level = self.commands.room.level(&self.bound);
        self.poll_interval = if level == Level::Ample { POLL_INTERVAL } else { TIGHT_POLL_INTERVAL };
        let stop = if Instant::now() >= self.until {
            Stop::Deadline
        } else if level == Level::Short {
            Stop::DiskFull
        } else if self.slices.are_used_up() {
            Stop::Quota
        } else {
            return;
        };
        self.process.stop(stop);
    }

    /// Other commands look when they end. While there is none, this does.
    fn look_if_due(&mut self) {
        let began = Instant::now();
        if began < self.next_look {
            return;
        }
        match self.guarded.left_so_far() {
            Ok(left) => self.left.extend(left),
            Err(error) => {
                tracing::error!(error, "could not look for what a background process leaves");
                self.process.stop(Stop::Failed);
            }
        }
        self.next_look = Instant::now() + LOOK_INTERVAL.max(began.elapsed() * LOOK_SHARE);
    }
}

/// Says how a process ended.
fn finish(
    commands: &Commands,
    process: &Process,
    exit: Option<&Exit>,
    report: ControlFileReport,
    file: OutputFile,
    duration: Duration,
) {
    let saved = file.finish();
    let stop = process.stopped().filter(|_| exit.is_none_or(|exit| exit.killed));
    let (state, reason) = (state_of(stop, exit), reason_of(stop, exit));
    let (network_refused, notice) = process.network_refused();
    let end = End {
        exit_code: exit.map_or(1, |exit| exit_code_of(exit, stop == Some(Stop::Deadline))),
        signal: exit.and_then(|exit| exit.signal),
        reason: reason.clone(),
        notices: report.notices.into_iter().chain(saved.notice).chain(notice).collect(),
        created_control_files: report.files.clone(),
        network_refused,
        duration_ms: millis(duration),
    };
    let ended = BackgroundProcessEnded {
        process_id: process.id.clone(),
        tool_name: process.about.tool.to_owned(),
        state,
        exit_code: end.exit_code,
        signal: end.signal,
        reason,
        duration_ms: end.duration_ms,
        output_bytes: process.status().output_bytes,
        output_path: saved.file.map(|file| file.path),
        created_control_files: report.files,
        network_refused: end.network_refused.clone(),
    };
    commands.processes.finish(process, ended, end);
}

fn state_of(stop: Option<Stop>, exit: Option<&Exit>) -> ProcessState {
    match stop {
        Some(Stop::Deadline) => ProcessState::TimedOut,
        None if exit.is_some_and(|exit| exit.code.is_some() && !exit.memory_exceeded) => ProcessState::Exited,
        Some(_) | None => ProcessState::Killed,
    }
}

/// Why it ended, unless it exited.
fn reason_of(stop: Option<Stop>, exit: Option<&Exit>) -> Option<String> {
    const MEMORY: &str = "It was killed because it had more memory than AUTONOUS_TOOL_MAX_MEMORY_MB allows.";
    match (stop, exit) {
        (_, None) => Some("It was killed, and its end could not be seen.".to_owned()),
        (Some(stop), Some(_)) => Some(stop.reason().to_owned()),
        (None, Some(exit)) if exit.memory_exceeded => Some(MEMORY.to_owned()),
        (None, Some(exit)) => exit.signal.map(|signal| format!("Signal {signal} ended it.")),
    }
}

/// All output in order of arrival, as far as its file may hold it.
struct OutputFile(Option<Spill>);

impl OutputFile {
    fn begin(store: &OutputStore, name: &str) -> Self {
        let spill = store.begin_within(name, MAX_FILE_BYTES);
        Self(spill.inspect_err(|error| tracing::error!(%error, "cannot save the output of a process")).ok())
    }

    fn write(&mut self, block: &[u8]) {
        if self.0.as_mut().is_some_and(|spill| spill.write(block).is_err()) {
            self.0 = None;
        }
    }

    fn flush(&mut self) {
        if self.0.as_mut().is_some_and(|spill| spill.flush().is_err()) {
            self.0 = None;
        }
    }

    /// Where it is, and what to say about it.
    fn finish(self) -> SavedOutput {
        self.0.map_or_else(SavedOutput::lost, Spill::finish)
    }

    /// Deletes it.
    fn discard(self) -> SavedOutput {
        self.0.into_iter().for_each(Spill::discard);
        SavedOutput::default()
    }
}
