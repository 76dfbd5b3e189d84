//! A running command, from the server's side: its output, its lifeline, and how it ended.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use rustix::process::Signal;

use crate::messages::{Outcome, Receivers, Report, SignalRequest};
use crate::settings::Tier;
use crate::step::SandboxError;

/// A command that was started. Each of its parts can go to its own thread.
#[derive(Debug)]
pub struct Running {
    /// The writing end of its stdin; none if it has no input.
    pub stdin: Option<OwnedFd>,
    /// The reading end of its stdout; it ends when no process holds the other end.
    pub stdout: OwnedFd,
    /// The reading end of its stderr.
    pub stderr: OwnedFd,
    /// The reading end of the pipe for what its shell leaves; a read never waits. None without
    /// [`crate::CommandSpec::keeps_state`].
    pub state: Option<OwnedFd>,
    /// Accepts the connections that it makes to its proxy; none without [`crate::Network::Listed`].
    pub listener: Option<OwnedFd>,
    /// Keeps it alive.
    pub lifeline: Lifeline,
    /// Waits for its end.
    pub exit: PendingExit,
}

/// Keeps a command alive. When this is dropped, the command and all its processes end within milliseconds.
#[derive(Debug)]
pub struct Lifeline(pub(crate) Arc<OwnedFd>);

impl Lifeline {
    /// Kills the command and all its processes.
    pub fn kill(self) {
        drop(self);
    }

    /// Has a signal sent to processes of the command. They may handle or ignore it.
    pub fn signal(&self, signal: Signal, receivers: Receivers) {
        SignalRequest { signal: signal.as_raw(), receivers }.send(&*self.0);
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // An error means that the command has already ended.
        let _ = shutdown(&*self.0, Shutdown::Write);
    }
}

/// Waits for a command to end.
#[derive(Debug)]
pub struct PendingExit {
    pub(crate) control: Arc<OwnedFd>,
    pub(crate) tier: Tier,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it exited by itself.
    pub code: Option<i32>,
    /// The signal that ended it otherwise.
    pub signal: Option<i32>,
    /// Whether its lifeline ended it.
    pub killed: bool,
    /// Whether it was ended because it had more memory than its limit.
    pub memory_exceeded: bool,
    /// CPU time of all its processes.
    pub cpu_time: Duration,
    /// Resident memory of its largest process, in bytes; a little above zero even for an empty program.
    pub peak_memory_bytes: u64,
    /// How it was confined.
    pub tier: Tier,
}

impl PendingExit {
    /// Waits at most this long; true if [`PendingExit::wait`] will not block.
    pub fn is_there_within(&self, timeout: Duration) -> bool {
        let mut watched = [PollFd::new(&*self.control, PollFlags::IN)];
        poll(&mut watched, Timespec::try_from(timeout).ok().as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Blocks until the command and all its processes are gone.
    pub fn wait(self) -> Result<Exit, SandboxError> {
        match receive(&self.control)? {
            Report::Done(outcome) => Ok(exit(outcome, self.tier)),
            Report::Failed(failure) => Err(failure.into()),
            Report::Started { .. } => Err(SandboxError::NoReport),
        }
    }
}

fn exit(outcome: Outcome, tier: Tier) -> Exit {
    let status = outcome.status;
    Exit {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        killed: outcome.killed,
        memory_exceeded: outcome.memory_exceeded,
        cpu_time: Duration::from_micros(outcome.cpu_micros),
        peak_memory_bytes: outcome.peak_kib * 1024,
        tier,
    }
}

/// The next report; [`SandboxError::NoReport`] if none will come.
pub(crate) fn receive(control: &OwnedFd) -> Result<Report, SandboxError> {
    let report = Report::receive(control).map_err(|errno| SandboxError::Unreachable(errno.into()))?;
    report.ok_or(SandboxError::NoReport)
}
