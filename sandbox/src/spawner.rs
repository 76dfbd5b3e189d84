//! The spawner, from the server's side.
//!
//! It is forked before the server has threads, secrets or connections, and before the server gives up the
//! right to make namespaces. A server that was taken over can ask it for nothing but held commands.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::calls::{self, Side};
use crate::command::{CommandSpec, Limits};
use crate::inside::{self, handover};
use crate::messages::{Job, Report};
use crate::running::{Lifeline, PendingExit, Running, receive};
use crate::settings::{Mode, SpawnerSettings, Tier};
use crate::step::{During as _, SandboxError, Step, StepError};

/// The server's hold on its spawner; dropped, the spawner and every command end.
#[derive(Debug)]
pub struct Spawner {
    socket: OwnedFd,
    tier: Tier,
    process: i32,
    pub(crate) network: bool,
    pub(crate) scratch: std::path::PathBuf,
    pub(crate) root: Option<std::path::PathBuf>,
    pub(crate) denied_tier_a: Option<String>,
}

impl Spawner {
    /// Forks the spawner in the best tier that `settings` allow and the kernel grants.
    ///
    /// The process must have one thread. Every descriptor that the server has open is closed in the
    /// spawner, and its copy of the environment is erased.
    pub fn start(settings: &SpawnerSettings) -> Result<Self, SandboxError> {
        let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads != 1 {
            return Err(SandboxError::ThreadsExist(threads));
        }
        match settings.mode {
            Mode::Full => Self::fork(settings, Tier::A).map_err(SandboxError::Demanded),
            Mode::Landlock => Self::fork(settings, Tier::B).map_err(SandboxError::Demanded),
            Mode::Auto => Self::fork(settings, Tier::A).or_else(|tier_a| {
                let mut spawner = match Self::fork(settings, Tier::B) {
                    Ok(spawner) => spawner,
                    Err(tier_b) => return Err(SandboxError::NoTier { tier_a, tier_b }),
                };
                spawner.denied_tier_a = Some(tier_a.to_string());
                Ok(spawner)
            }),
        }
    }

    fn fork(settings: &SpawnerSettings, tier: Tier) -> Result<Self, StepError> {
        let (ours, theirs) = pair().during(Step::Socket)?;
        let process = match calls::fork().during(Step::Fork)? {
            Side::Child => {
                drop(ours);
                inside::serve(settings, tier, theirs)
            }
            Side::Parent(process) => process,
        };
        drop(theirs);
        match receive(&ours) {
            Ok(Report::Started) => {}
            Ok(Report::Failed(error)) => {
                let _ = calls::wait_for(process);
                return Err(error);
            }
            Ok(Report::Ended(_) | Report::Done(_)) | Err(_) => {
                return Err(StepError::from_errno(Step::Fork, libc::ECHILD));
            }
        }
        let spawner = Self {
            socket: ours,
            tier,
            process,
            network: settings.network,
            scratch: settings.scratch.clone(),
            root: settings.roots.first().map(|root| root.path.clone()),
            denied_tier_a: None,
        };
        spawner.trial()?;
        Ok(spawner)
    }

    /// Takes every step towards a command once: a tier is there when all of them succeed.
    fn trial(&self) -> Result<(), StepError> {
        let lost = |_| StepError::from_errno(Step::Reaper, libc::ECHILD);
        match self.hold(&Job::Trial(Limits::for_timeout(Duration::from_secs(1)))) {
            Ok(running) => running.exit.wait().map(drop).map_err(lost),
            Err(SandboxError::Held(error)) => Err(error),
            Err(error) => Err(lost(error)),
        }
    }

    /// How commands are held.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The spawner's process id.
    pub fn process_id(&self) -> i32 {
        self.process
    }

    /// Starts a command; returns once the program was executed, or says which step failed.
    pub fn run(&self, command: &CommandSpec) -> Result<Running, SandboxError> {
        self.hold(&Job::Execute(command.clone())).map_err(|error| name_the_culprit(error, command))
    }

    /// Blocks until the spawner is gone: without it no command can run, and a server should end.
    pub fn wait_until_gone(&self) {
        let mut watched = [PollFd::new(&self.socket, PollFlags::empty())];
        while poll(&mut watched, None) == Err(Errno::INTR) {}
    }

    pub(crate) fn hold(&self, job: &Job) -> Result<Running, SandboxError> {
        let (control, held_control) = pair().map_err(unreachable_because)?;
        let (stdout, held_stdout) = pipe_with(PipeFlags::CLOEXEC).map_err(unreachable_because)?;
        let (stderr, held_stderr) = pipe_with(PipeFlags::CLOEXEC).map_err(unreachable_because)?;
        let request = written(&job.encode()).map_err(SandboxError::Unreachable)?;
        let handed = [request.as_fd(), held_stdout.as_fd(), held_stderr.as_fd(), held_control.as_fd()];
        handover::send(&self.socket, handed).map_err(unreachable_because)?;
        drop((request, held_stdout, held_stderr, held_control));
        match receive(&control)? {
            Report::Started => {}
            Report::Failed(error) => return Err(SandboxError::Held(error)),
            Report::Ended(_) | Report::Done(_) => return Err(SandboxError::Lost),
        }
        let control = Arc::new(control);
        let lifeline = Lifeline(Arc::clone(&control));
        Ok(Running { stdout, stderr, lifeline, exit: PendingExit { control, tier: self.tier } })
    }
}

impl Drop for Spawner {
    /// Without its socket the spawner ends at once; what remains of it is cleared away.
    fn drop(&mut self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
        let _ = calls::wait_for(self.process);
    }
}

/// A program or directory that is not there is the caller's affair, not a fault of the sandbox.
fn name_the_culprit(error: SandboxError, command: &CommandSpec) -> SandboxError {
    match error {
        SandboxError::Held(StepError { step: Step::Exec, answer: source }) => {
            SandboxError::Exec { program: command.program.display().to_string(), source }
        }
        SandboxError::Held(StepError { step: Step::Workdir, answer: source }) => {
            SandboxError::Workdir { workdir: command.workdir.display().to_string(), source }
        }
        other => other,
    }
}

fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

fn written(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file.into())
}

fn unreachable_because(errno: Errno) -> SandboxError {
    SandboxError::Unreachable(errno.into())
}
