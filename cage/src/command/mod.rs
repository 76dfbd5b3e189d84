//! Runs commands through the spawner, reads their output while they run, and kills them at their deadline.
//!
//! The kernel sandboxes a command; this module only starts it, reads its output into bounded memory, and
//! kills it when time or disk space runs out or the caller is gone. Where commands cannot be sandboxed, every
//! call says why.

mod background;
mod capture;
mod covers;
mod ending;
mod environment;
mod excerpt;
mod grouped;
mod guarded;
mod listed_network;
mod pipes;
mod quota;
mod report;
mod request;
mod room;
mod sanitize;
mod shell_state;
mod yielding;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use files::change::io_error;
use files::output_store::OutputStore;
use files::roots::{Roots, Workspaces};
use prometheus::Histogram;
use protocol::journal::{CreatedControlFile, ProcessState};
use protocol::{ErrorCode, ToolError};
use sandbox::{CommandSpec, Exit, Lifeline, Limits, PendingExit, Running, SandboxError, Tier};
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::{Call, Outcome};

use crate::control_files::GuardedCall;
use crate::network::{ListedNetwork, WayOut};
use crate::obstacle::Obstacle;
use crate::processes::{END_OF_INPUT, Live, Processes, Stop, Stream};
use capture::Capture;
use ending::{Ran, exit_code_of, name_of};
use guarded::GuardedCommand;
use pipes::Pipes;
use report::ControlFileReport;
use room::{Bound, Level, Room};
use shell_state::KeptStates;

pub use environment::{Environment, find_program, git_settings};
pub use guarded::GuardedSpawner;
pub use quota::CommandQuota;
pub use report::listed;
pub use request::{CommandRequest, Given};
pub use sanitize::{Changes, sanitize};
pub use shell_state::{ShellState, saying_its_state};

/// How long output is still read after the main process exits, when another process holds the pipes.
const LINGER: Duration = Duration::from_millis(100);

/// How long a command may take to exit once it is killed.
const MAX_STOP_TIME: Duration = Duration::from_secs(5);

/// How often a running command's caller and disk are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The same for a command while the disk may be full within a moment.
const TIGHT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The same for a command that was killed.
const STOPPING_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs commands, or knows why none can run.
#[derive(Debug)]
pub struct Commands {
    spawner: Result<GuardedSpawner, String>,
    workspaces: Arc<Workspaces>,
    environment: Environment,
    output: Arc<OutputStore>,
    room: Room,
    max_memory_bytes: u64,
    quota: CommandQuota,
    processes: Processes,
    listed_network: Option<ListedNetwork>,
    states: KeptStates,
    start_times: Option<Histogram>,
}

/// The facts of a command that ran.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CommandData {
    /// The signal that killed it; absent when it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    /// Whether it was killed at its deadline.
    pub(crate) timed_out: bool,
    /// Wall time in milliseconds.
    pub(crate) duration_ms: u64,
    /// Processor time of all its processes, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// Resident memory of its largest process, in bytes.
    pub(crate) peak_memory_bytes: u64,
    /// The sandbox tier: `A` (namespaces, Landlock, seccomp) or `B` (Landlock, seccomp).
    pub(crate) sandbox_tier: String,
    /// What it left for other programs to execute, at most 64 of it.
    pub(crate) created_control_files: Vec<CreatedControlFile>,
    /// The hosts that it asked for and may not reach, at most 32; only where the network is a list.
    pub(crate) network_refused: Vec<String>,
    /// The ID of the background process that it is now; absent if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) process_id: Option<String>,
    /// The state of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<ProcessState>,
    /// Pass it to `process_read` as `after_seq` to read what follows; only after `yield_after_seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_seq: Option<u64>,
}

impl Commands {
    /// `Err` says why no commands run.
    pub fn new(
        spawner: Result<GuardedSpawner, String>,
        workspaces: Arc<Workspaces>,
        environment: Environment,
        output: Arc<OutputStore>,
        min_free_bytes: u64,
        max_memory_bytes: u64,
    ) -> Self {
        let room = Room::new(Arc::clone(workspaces.whole()), min_free_bytes);
        let quota = CommandQuota::default();
        let processes = Processes::none();
        Self {
            spawner,
            workspaces,
            environment,
            output,
            room,
            max_memory_bytes,
            quota,
            processes,
            listed_network: None,
            states: KeptStates::default(),
            start_times: None,
        }
    }

    /// The same within limits of the day.
    pub fn with_quota(self, quota: CommandQuota) -> Self {
        Self { quota, ..self }
    }

    /// From now on these limits of the day hold.
    pub fn set_limits(&self, limits: &settings::quotas::Limits) {
        self.quota.set_limits(limits);
    }

    /// The same, noting how many seconds each command took to start in its sandbox.
    pub fn with_start_times(self, start_times: Histogram) -> Self {
        Self { start_times: Some(start_times), ..self }
    }

    /// The same with background processes.
    pub fn with_processes(self, processes: Processes) -> Self {
        Self { processes, ..self }
    }

    /// Those that run in the background.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Whether commands can be sandboxed here.
    pub fn can_run(&self) -> bool {
        self.spawner.is_ok()
    }

    /// Why the last command could not start because of entries of the roots, if that still holds.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.spawner.as_ref().ok().and_then(GuardedSpawner::obstacle)
    }

    /// Checks what the commands of a killed server left.
    pub fn recover(&self) {
        if let Ok(spawner) = &self.spawner {
            spawner.recover();
        }
    }

    /// Begins to read the roots, on a thread of its own; the first command waits for it.
    pub fn watch_roots(&self) -> std::io::Result<()> {
        self.spawner.as_ref().map_or(Ok(()), GuardedSpawner::watch_roots)
    }

    /// An empty directory that is deleted after the command; in tier B, the first root.
    pub fn private_workdir(&self, call: &Call) -> Result<PathBuf, ToolError> {
        match &self.spawner {
            Ok(guarded) if guarded.spawner.tier() == Tier::A => Ok(PathBuf::from(sandbox::HOME)),
            Ok(_) | Err(_) => Ok(self.workspaces.of(&call.scope)?.first().to_owned()),
        }
    }

    /// Where commands find a program.
    pub fn program(&self, name: &str) -> Result<PathBuf, ToolError> {
        find_program(name, self.environment.search_path()).ok_or_else(|| {
            ToolError::new(ErrorCode::ToolNotAllowed, format!("`{name}` is not in the PATH of commands."))
                .with_hint("The operator of the server must install it.")
        })
    }

    /// Runs a command to its end, its deadline or the end of its call.
    pub fn run(&self, call: &Call, request: CommandRequest) -> Outcome<CommandData> {
        self.spawner()?;
        let reserved = self.quota.reserve(&call.scope, request.timeout)?;
        let request = CommandRequest { timeout: reserved.time, ..request };
        let timeout = request.timeout;
        let Begun { mut running, guarded, bound, way_out, since } = self.begin(call, request, None)?;
        let state = running.state.take();
        let mut command = RunningCommand {
            call,
            until: since + timeout,
            capture: self.capture(call),
            live: Live::begin(call),
            poll_interval: TIGHT_POLL_INTERVAL,
            stopped: None,
            bound,
            way_out,
            about_state: None,
        };
        let exit = self.follow(&mut command, running).map_err(|error| sandbox_failed(call, &error))?;
        command.live.take().into_iter().for_each(Live::finish);
        command.about_state = state.and_then(|pipe| self.keep_state(call, &pipe));
        let control_files = ControlFileReport::of(guarded);
        command.into_outcome(&exit, control_files, since.elapsed(), timeout)
    }

    fn spawner(&self) -> Result<&GuardedSpawner, ToolError> {
        self.spawner.as_ref().map_err(|reason| {
            ToolError::new(ErrorCode::ToolNotAllowed, format!("Commands cannot be sandboxed here: {reason}"))
                .with_hint("GET /capabilities says what is missing and how to fix it; the file tools work.")
        })
    }

    /// Starts a command within everything that bounds it. Its stdin is what it is given, and without that
    /// the pipe of a background process.
    fn begin(
        &self,
        call: &Call,
        request: CommandRequest,
        process: Option<&str>,
    ) -> Result<Begun<'_>, ToolError> {
        let roots = self.workspaces.of(&call.scope)?;
        self.require_narrowing(call, &roots)?;
        let bound = self.room.bound();
        let since = Instant::now();
        let mut command = CommandSpec {
            program: request.program,
            arguments: request.arguments,
            environment: self.environment.variables(
                roots.first(),
                self.beside_proxy(call),
                request.given.env(),
            ),
            has_input: process.is_some() || request.given.stdin().is_some(),
            has_terminal: request.has_terminal,
            keeps_state: request.keeps_state,
            workdir: request.workdir,
            limits: self.limits(request.timeout, &bound),
            covers: Vec::new(),
            network: self.network_of(call, process),
            proxy_variables: self.proxy_variables(call),
            is_offline: Self::is_offline(call),
            own_directories: roots.own_directories().map_err(|error| io_error(".", "open", &error))?,
        };
        let guarded = GuardedCall {
            call_id: call.id.clone(),
            session_id: call.scope.session().clone(),
            token: call.scope.token().map(str::to_owned),
            tool: request.tool.to_owned(),
            process: process.map(str::to_owned),
        };
        let (mut running, guarded) = self
            .spawner()?
            .start(call, &roots, (guarded, request.leaving), &mut command)
            .map_err(|error| error.into_tool_error(call))?;
        self.start_times.iter().for_each(|times| times.observe(since.elapsed().as_secs_f64()));
        let way_out = self.way_out(call, &running)?;
        request.given.feed(&mut running.stdin)?;
        if request.has_terminal && process.is_none() {
            // Nobody can type, so its input ends.
            let _ = rustix::io::write(&running.stdout, END_OF_INPUT);
        }
        Ok(Begun { running, guarded, bound, way_out, since })
    }

    /// Without namespaces, all commands see the same roots and network.
    fn require_narrowing(&self, call: &Call, roots: &Roots) -> Result<(), ToolError> {
        let is_narrowed = Self::is_offline(call) || (roots.are_parts() && !self.workspaces.are_divided());
        if !is_narrowed || self.spawner()?.spawner.tier() == Tier::A {
            return Ok(());
        }
        let message = "The sandbox of this machine (tier B) cannot keep the commands of one token to less.";
        let hint = "Use the file tools, or a token without `roots`, `read_only` and `network`.";
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint))
    }

    /// The limits of a command; one that is to free room may write to no file.
    fn limits(&self, timeout: Duration, bound: &Bound) -> Limits {
        let limits = Limits { memory_bytes: self.max_memory_bytes, ..Limits::for_timeout(timeout) };
        if bound.is_for_freeing() { Limits { file_size_bytes: 0, ..limits } } else { limits }
    }

    fn capture(&self, call: &Call) -> Capture {
        let name = self.workspaces.output_name(&call.scope, call.scope.token(), &call.id);
        Capture::new(call.bounds, Arc::clone(&self.output), &name)
    }

    /// Reads a command's output until it exits, and kills it when it must.
    fn follow(&self, command: &mut RunningCommand<'_>, running: Running) -> Result<Exit, SandboxError> {
        let Running { stdout, stderr, lifeline, exit, .. } = running;
        let mut pipes = Pipes::of(stdout, stderr);
        let mut lifeline = Some(lifeline);
        let mut give_up = None;
        let mut ended = false;
        loop {
            let wait = if lifeline.is_some() { command.poll_interval() } else { STOPPING_POLL_INTERVAL };
            let open = pipes.read(wait, |stream, block| command.add_output(stream, block));
            if !ended {
                ended = if open {
                    exit.is_there_within(Duration::ZERO)
                } else {
                    self.await_end(command, &exit, &mut lifeline)
                };
                if ended {
                    give_up = Some(Instant::now() + LINGER);
                }
            }
            if ended && (!open || give_up.is_some_and(|until| Instant::now() >= until)) {
                return exit.wait();
            }
            self.stop_if_due(command, &mut lifeline);
            if lifeline.is_none() && give_up.is_none() {
                give_up = Some(Instant::now() + MAX_STOP_TIME);
            }
            if !ended && give_up.is_some_and(|until| Instant::now() >= until) {
                return Err(SandboxError::NoReport);
            }
        }
    }

    /// Waits for the exit of a command that has closed its output; false if it was killed and did not end.
    fn await_end(
        &self,
        command: &mut RunningCommand<'_>,
        exit: &PendingExit,
        lifeline: &mut Option<Lifeline>,
    ) -> bool {
        loop {
            if exit.is_there_within(command.poll_interval()) {
                return true;
            }
            self.stop_if_due(command, lifeline);
            if lifeline.is_none() {
                return exit.is_there_within(MAX_STOP_TIME);
            }
        }
    }

    fn stop_if_due(&self, command: &mut RunningCommand<'_>, lifeline: &mut Option<Lifeline>) {
        if lifeline.is_none() {
            return;
        }
        let level = self.room.level(&command.bound);
        command.poll_interval = if level == Level::Ample { POLL_INTERVAL } else { TIGHT_POLL_INTERVAL };
        command.stopped = if command.left().is_zero() {
            Some(Stop::Deadline)
        } else if command.call.is_cancelled() {
            Some(Stop::CallerGone)
        } else if level == Level::Short {
            Some(Stop::DiskFull)
        } else {
            return;
        };
        *lifeline = None;
    }
}

/// A command that was started.
struct Begun<'a> {
    running: Running,
    guarded: GuardedCommand<'a>,
    /// What it must leave of the disk.
    bound: Bound,
    /// How it reaches the network.
    way_out: WayOut,
    since: Instant,
}

struct RunningCommand<'a> {
    call: &'a Call,
    until: Instant,
    capture: Capture,
    /// Its caller, if it wants the output at once.
    live: Option<Live<'a>>,
    /// How often its caller and disk are checked.
    poll_interval: Duration,
    /// What it must leave of the disk.
    bound: Bound,
    /// How it reaches the network.
    way_out: WayOut,
    stopped: Option<Stop>,
    /// What to say about the state that it leaves.
    about_state: Option<String>,
}

impl RunningCommand<'_> {
    fn add_output(&mut self, stream: Stream, block: &[u8]) {
        self.capture.add(stream, block);
        if let Some(live) = &mut self.live {
            live.add(stream, block);
        }
    }

    /// How long to wait for output or an exit before the next check.
    fn poll_interval(&self) -> Duration {
        self.poll_interval.min(self.left())
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn into_outcome(
        self,
        exit: &Exit,
        control_files: ControlFileReport,
        duration: Duration,
        timeout: Duration,
    ) -> Outcome<CommandData> {
        let (text, saved) = self.capture.finish();
        let Self { way_out, bound, about_state, stopped, .. } = self;
        let (refused, about_room) = (way_out.refused(), bound.notice());
        Ran { text, saved, refused, about_room, about_state, control_files, stopped, duration, timeout }
            .into_outcome(exit)
    }
}

fn sandbox_failed(call: &Call, error: &SandboxError) -> ToolError {
    tracing::error!(call_id = %call.id, error = %error_chain(error), "could not sandbox a command");
    let message = format!("The command could not be sandboxed and was not run: {error}.");
    let mut failed = ToolError::new(ErrorCode::SandboxFailed, message);
    failed.retryable |= matches!(error, SandboxError::CoverMoved(_));
    failed
}

/// An error and its sources, for the log.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
