//! The server's handle of the spawner process.
//!
//! The spawner is forked before the server has threads, secrets or connections, and before the server
//! gives up the right to create namespaces. Even a compromised server can only ask it for confined commands.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::command::{CommandSpec, Limits};
use crate::inside::{fd_passing, serve};
use crate::messages::{Job, Report, encode, socket_pair};
use crate::running::{Lifeline, PendingExit, Running, receive};
use crate::settings::{Mode, SpawnerSettings, Tier};
use crate::step::{During as _, Failure, SandboxError, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// The spawner process. When this is dropped, the spawner and every command end.
#[derive(Debug)]
pub struct Spawner {
    socket: OwnedFd,
    tier: Tier,
    pid: i32,
    pub(crate) network: bool,
    pub(crate) scratch: PathBuf,
    pub(crate) root: Option<PathBuf>,
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
        let pid = match syscalls::fork().during(Step::Fork)? {
            ForkResult::Child => {
                drop(ours);
                serve(settings, tier, theirs)
            }
            ForkResult::Parent(pid) => pid,
        };
        drop(theirs);
        match receive(&ours) {
            Ok(Report::Started) => {}
            Ok(Report::Failed(Failure::Step(error))) => {
                let _ = syscalls::wait_for(pid);
                return Err(error);
            }
            Ok(Report::Failed(_) | Report::Ended(_) | Report::Done(_)) | Err(_) => {
                return Err(StepError::new(Step::Fork, libc::ECHILD));
            }
        }
        let spawner = Self {
            socket: ours,
            tier,
            pid,
            network: settings.network,
            scratch: settings.scratch.clone(),
            root: settings.roots.first().map(|root| root.path.clone()),
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

    /// The spawner's process ID.
    pub fn process_id(&self) -> i32 {
        self.pid
    }

    /// Starts a command; returns once the program was executed, or with the step that failed.
    pub fn run(&self, command: &CommandSpec) -> Result<Running, SandboxError> {
        self.start_job(&Job::Execute(command.clone())).map_err(|error| blame_command(error, command))
    }

    /// Blocks until the spawner is gone. Without it no command can run, so the server should end.
    pub fn wait_until_gone(&self) {
        let mut watched = [PollFd::new(&self.socket, PollFlags::empty())];
        while poll(&mut watched, None) == Err(Errno::INTR) {}
    }

    pub(crate) fn start_job(&self, job: &Job) -> Result<Running, SandboxError> {
        let unreachable = |errno: Errno| SandboxError::Unreachable(errno.into());
        let (control, child_control) = socket_pair().map_err(unreachable)?;
        let (stdout, child_stdout) = pipe_with(PipeFlags::CLOEXEC).map_err(unreachable)?;
        let (stderr, child_stderr) = pipe_with(PipeFlags::CLOEXEC).map_err(unreachable)?;
        let request = memory_file(&encode(job)).map_err(SandboxError::Unreachable)?;
        let passed = [request.as_fd(), child_stdout.as_fd(), child_stderr.as_fd(), child_control.as_fd()];
        fd_passing::send(&self.socket, passed).map_err(unreachable)?;
        drop((request, child_stdout, child_stderr, child_control));
        match receive(&control)? {
            Report::Started => {}
            Report::Failed(failure) => return Err(failure.into()),
            Report::Ended(_) | Report::Done(_) => return Err(SandboxError::NoReport),
        }
        let control = Arc::new(control);
        let lifeline = Lifeline(Arc::clone(&control));
        Ok(Running { stdout, stderr, lifeline, exit: PendingExit { control, tier: self.tier } })
    }
}

impl Drop for Spawner {
    /// The spawner ends as soon as its socket closes; then it is reaped.
    fn drop(&mut self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = syscalls::wait_for(self.pid);
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
