//! The server's handle of the spawner process.
//!
//! The spawner is forked before the server has threads, secrets or connections, and before the server
//! gives up the right to create namespaces. Even a compromised server can only ask it for confined commands.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use process::parent_pipe::{self, Held};
use process::sign_of_life::{self, Loss};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::command::{CommandSpec, Limits};
use crate::inside::{fd_passing, serve};
use crate::messages::{CONFINED, Job, Report, decode, encode, socket_pair};
use crate::running::{Lifeline, PendingExit, Running, receive};
use crate::settings::{Mode, Network, SpawnerSettings, Tier};
use crate::step::{During as _, Failure, SandboxError, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// How many sandboxes wait for a command: enough that eight commands in a row, or a few at once, find one
/// ready. Each takes two small processes and less than a megabyte.
const PREPARED: usize = 4;

/// The longest that the spawner may take until it is confined.
const START: Duration = Duration::from_secs(20);

/// How long its end may take.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// The spawner process. When this is dropped, the spawner and every command end.
#[derive(Debug)]
pub struct Spawner {
    socket: OwnedFd,
    _alive: Held,
    tier: Tier,
    pub(crate) pid: i32,
    /// Readable once the process has ended.
    handle: OwnedFd,
    /// Sockets to sandboxes that wait for their command, or are being prepared, oldest first.
    prepared: Mutex<VecDeque<OwnedFd>>,
    pub(crate) network: Network,
    pub(crate) scratch: PathBuf,
    pub(crate) root: Option<PathBuf>,
    pub(crate) divided: bool,
    /// Whether the kernel counts all memory of each command.
    pub(crate) has_cgroups: bool,
    pub(crate) tier_a_error: Option<String>,
}

impl Spawner {
    /// Forks the spawner in the best tier that `settings` allow and the kernel supports.
    ///
    /// The process must have one thread. The spawner closes all inherited descriptors and erases its copy
    /// of the environment.
    pub fn start(settings: &SpawnerSettings) -> Result<Self, SandboxError> {
        let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads != 1 {
            return Err(SandboxError::ThreadsExist(threads));
        }
        match settings.mode {
            Mode::Landlock if settings.divided => {
                Err(SandboxError::DividedRoots(StepError::new(Step::OwnDirectories, libc::EOPNOTSUPP)))
            }
            Mode::Full | Mode::Auto if settings.divided => {
                Self::fork(settings, Tier::A).map_err(SandboxError::DividedRoots)
            }
            Mode::Full => Self::fork(settings, Tier::A).map_err(SandboxError::TierUnavailable),
            Mode::Landlock => Self::fork(settings, Tier::B).map_err(SandboxError::TierUnavailable),
            Mode::Auto => Self::fork(settings, Tier::A).or_else(|tier_a| {
                let spawner = Self::fork(settings, Tier::B);
                let mut spawner = spawner.map_err(|tier_b| SandboxError::NoTier { tier_a, tier_b })?;
                spawner.tier_a_error = Some(tier_a.to_string());
                Ok(spawner)
            }),
        }
    }

    fn fork(settings: &SpawnerSettings, tier: Tier) -> Result<Self, StepError> {
        let (ours, theirs) = socket_pair().during(Step::Socket)?;
        let (held, watched) = parent_pipe::pair().during(Step::Socket)?;
        let pid = match syscalls::fork().during(Step::Fork)? {
            ForkResult::Child => {
                drop((ours, held));
                serve(settings, tier, theirs, watched)
            }
            ForkResult::Parent(pid) => pid,
        };
        drop((theirs, watched));
        let handle = Pid::from_raw(pid).ok_or(Errno::SRCH);
        let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())).during(Step::Fork)?;
        let mut watched = [PollFd::new(&ours, PollFlags::IN)];
        if poll(&mut watched, Timespec::try_from(START).ok().as_ref()) == Ok(0) {
            let _ = syscalls::kill(pid, libc::SIGKILL).and_then(|()| syscalls::wait_for(pid).map(drop));
            return Err(StepError::new(Step::Fork, libc::ETIMEDOUT));
        }
        let has_cgroups = match receive(&ours) {
            Ok(Report::Started { has_cgroups }) => has_cgroups,
            Ok(Report::Failed(Failure::Step(error))) => {
                let _ = syscalls::wait_for(pid);
                return Err(error);
            }
            Ok(Report::Failed(_) | Report::Done(_)) | Err(_) => {
                return Err(StepError::new(Step::Fork, libc::ECHILD));
            }
        };
        let spawner = Self {
            socket: ours,
            _alive: held,
            tier,
            pid,
            handle,
            prepared: Mutex::default(),
            network: settings.network.within(tier),
            scratch: settings.scratch.clone(),
            root: settings.roots.first().map(|root| root.path.clone()),
            divided: settings.divided,
            has_cgroups,
            tier_a_error: None,
        };
        spawner.try_all_steps()?;
        Ok(spawner)
    }

    /// Takes every setup step once: the tier is available if all of them succeed.
    fn try_all_steps(&self) -> Result<(), StepError> {
        let lost = |_| StepError::new(Step::Reaper, libc::ECHILD);
        match self.start_job(&Job::Trial(Limits::for_timeout(Duration::from_secs(1)))) {
            Ok(running) => running.exit.wait().map(drop).map_err(lost),
            Err(SandboxError::Setup(error)) => Err(error),
            Err(error) => Err(lost(error)),
        }
    }

    /// How commands are confined.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Starts a command; returns once the program was executed, or with the step that failed.
    pub fn run(&self, command: &CommandSpec) -> Result<Running, SandboxError> {
        let started = self.start_job(&Job::Execute(command.clone()));
        // Now, while the server waits for the command.
        self.prepare();
        started.map_err(|error| blame_command(error, command))
    }

    /// Blocks until the spawner is lost: no command can run then, so the server should end. `tell` hears when
    /// it is quiet, and when it no longer is.
    pub fn watch(&self, tell: impl FnMut(bool)) -> Loss {
        sign_of_life::watch(&self.socket, tell)
    }

    /// Prepares as many sandboxes as are kept, without waiting for them.
    pub fn prepare(&self) {
        let mut prepared = self.prepared();
        while prepared.len() < PREPARED {
            // A command says why there is none.
            let Ok(control) = self.order(None) else { return };
            prepared.push_back(control);
        }
    }

    /// The process starts in a prepared sandbox, if there is one that is alive.
    pub(crate) fn start_job(&self, job: &Job) -> Result<Running, SandboxError> {
        let file = memory_file(&encode(job)).map_err(SandboxError::Unreachable)?;
        let order = job.order(self.divided).map(|order| memory_file(&encode(&order))).transpose();
        let order = order.map_err(SandboxError::Unreachable)?;
        // Those that wait are like most.
        while order.is_none()
            && let Some(control) = self.take_prepared()
        {
            match self.hand_over(control, job, &file) {
                Err(SandboxError::NoReport) => {}
                started => return started,
            }
        }
        self.hand_over(self.order(order.as_ref())?, job, &file)
    }

    /// Gives a job to the sandbox behind `control`, and waits until the program was executed; `file` is the
    /// memory file with the job. [`SandboxError::NoReport`] says that the sandbox ended before that.
    fn hand_over(&self, control: OwnedFd, job: &Job, file: &OwnedFd) -> Result<Running, SandboxError> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(unreachable);
        let ((child_stdin, stdin), (stdout, child_stdout)) = (pipe()?, pipe()?);
        let ((stderr, child_stderr), (started, child_started)) = (pipe()?, pipe()?);
        let (link, child_link) = socket_pair().map_err(unreachable)?;
        let passed = [file, &child_stdin, &child_stdout, &child_stderr, &child_link, &child_started];
        // If it is gone, it may have said why.
        let _ = fd_passing::send(&control, passed.map(OwnedFd::as_fd));
        drop((child_stdin, child_stdout, child_stderr, child_link, child_started));
        // What it writes before it ends would only wake this thread twice.
        let mut closed = [PollFd::new(&started, PollFlags::empty())];
        while poll(&mut closed, None) == Err(Errno::INTR) {}
        let mut answer = Vec::new();
        File::from(started).read_to_end(&mut answer).map_err(SandboxError::Unreachable)?;
        match *answer {
            [CONFINED] => {}
            [] => match receive(&control)? {
                Report::Failed(failure) => return Err(failure.into()),
                Report::Started { .. } | Report::Done(_) => return Err(SandboxError::NoReport),
            },
            [CONFINED, ref error @ ..] | ref error => match decode(error) {
                Some(Report::Failed(failure)) => return Err(failure.into()),
                _ => return Err(SandboxError::NoReport),
            },
        }
        let given = |is_there: bool| if is_there { receive_given(&link).map(Some) } else { Ok(None) };
        let has_listener = job.has_listener() && self.network == Network::Listed;
        let (terminal, state, listener) =
            (given(job.has_terminal())?, given(job.keeps_state())?, given(has_listener)?);
        let (stdin, stdout) = match terminal {
            Some(terminal) => (terminal.try_clone().map_err(SandboxError::Unreachable)?, terminal),
            None => (stdin, stdout),
        };
        let control = Arc::new(control);
        let lifeline = Lifeline(Arc::clone(&control));
        let exit = PendingExit { control, tier: self.tier };
        let stdin = job.has_input().then_some(stdin);
        Ok(Running { stdin, stdout, stderr, state, listener, lifeline, exit })
    }

    /// Asks the spawner for a sandbox, perhaps one that differs from others, and returns the socket to it
    /// without waiting.
    fn order(&self, order: Option<&OwnedFd>) -> Result<OwnedFd, SandboxError> {
        let (ours, theirs) = socket_pair().map_err(unreachable)?;
        match order {
            None => fd_passing::send(&self.socket, [theirs.as_fd()]),
            Some(order) => fd_passing::send(&self.socket, [theirs.as_fd(), order.as_fd()]),
        }
        .map_err(unreachable)?;
        Ok(ours)
    }

    /// The oldest one that has neither failed nor ended.
    fn take_prepared(&self) -> Option<OwnedFd> {
        loop {
            let control = self.prepared().pop_front()?;
            // It speaks before it gets a job only when something failed.
            let mut watched = [PollFd::new(&control, PollFlags::IN)];
            if poll(&mut watched, Some(&Timespec::default())) == Ok(0) {
                return Some(control);
            }
        }
    }

    fn prepared(&self) -> MutexGuard<'_, VecDeque<OwnedFd>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreachable(errno: Errno) -> SandboxError {
    SandboxError::Unreachable(errno.into())
}

/// What the command's process gave out before it executed the program.
fn receive_given(link: &OwnedFd) -> Result<OwnedFd, SandboxError> {
    let received = fd_passing::receive::<1>(link).map_err(unreachable)?;
    received.map(|[given]| given).ok_or(SandboxError::NoReport)
}

impl Drop for Spawner {
    /// The spawner ends as soon as its socket closes; then it is reaped. One that stands still is left: the
    /// kernel kills it when this process ends.
    fn drop(&mut self) {
        self.prepared().clear();
        let _ = shutdown(&self.socket, Shutdown::Both);
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
        if poll(&mut watched, Timespec::try_from(LAST_PATIENCE).ok().as_ref()) == Ok(1) {
            let _ = syscalls::wait_for(self.pid);
        }
    }
}

/// A missing program or directory is the caller's mistake, not a failure of the sandbox.
fn blame_command(error: SandboxError, command: &CommandSpec) -> SandboxError {
    let SandboxError::Setup(StepError { step, errno }) = error else { return error };
    let source = std::io::Error::from_raw_os_error(errno);
    if step == Step::Exec {
        SandboxError::Exec { program: command.program.display().to_string(), source }
    } else if step == Step::Workdir {
        SandboxError::Workdir { workdir: command.workdir.display().to_string(), source }
    } else {
        error
    }
}

fn memory_file(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file.into())
}
