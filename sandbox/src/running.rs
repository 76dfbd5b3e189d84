//! A running command, from the server's side: its output, its lifeline, and how it ended.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use crate::messages::{Outcome, Report};
use crate::settings::Tier;
use crate::step::SandboxError;

/// More than any report has.
const MAX_REPORT_BYTES: usize = 256 * 1024;

/// A command that was started. The four parts may go to four threads.
#[derive(Debug)]
pub struct Running {
    /// Where its output can be read, until every process that holds it is gone.
    pub stdout: OwnedFd,
    /// The same for its errors.
    pub stderr: OwnedFd,
    /// What keeps it alive.
    pub lifeline: Lifeline,
    /// How it will have ended.
    pub exit: PendingExit,
}

/// Keeps a command alive; dropped, the command and all that came from it end within milliseconds.
#[derive(Debug)]
pub struct Lifeline(pub(crate) Arc<OwnedFd>);

impl Lifeline {
    /// Ends the command and all that came from it.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // That it is closed already means that the command has ended.
        let _ = shutdown(&*self.0, Shutdown::Write);
    }
}

/// The way to a command's end.
#[derive(Debug)]
pub struct PendingExit {
    pub(crate) control: Arc<OwnedFd>,
    pub(crate) tier: Tier,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, else.
    pub signal: Option<i32>,
    /// Whether it was ended by its lifeline.
    pub killed: bool,
    /// Processor time of all its processes.
    pub cpu_time: Duration,
    /// Resident memory of its largest process, in bytes; a little above zero even for an empty program.
    pub peak_memory_bytes: u64,
    /// How it was held.
    pub tier: Tier,
    /// Control files that appeared while it ran; in tier B also those that changed.
    pub created_control_files: Vec<PathBuf>,
    /// Whether the roots were searched for control files to their end, before and after.
    pub control_search_complete: bool,
}

impl PendingExit {
    /// Blocks until the command and all that came from it are gone.
    pub fn wait(self) -> Result<Exit, SandboxError> {
        match receive(&self.control)? {
            Report::Done(outcome) => Ok(Exit::new(outcome, self.tier)),
            Report::Failed(error) => Err(SandboxError::Held(error)),
            Report::Started | Report::Ended(_) => Err(SandboxError::Lost),
        }
    }
}

impl Exit {
    fn new(outcome: Outcome, tier: Tier) -> Self {
        let status = outcome.status;
        Self {
            code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            killed: outcome.killed,
            cpu_time: Duration::from_micros(outcome.cpu_micros),
            peak_memory_bytes: outcome.peak_kib * 1024,
            tier,
            created_control_files: outcome.created_control_files,
            control_search_complete: outcome.search_complete,
        }
    }
}

/// The next report; [`SandboxError::Lost`] when none will come.
pub(crate) fn receive(control: &OwnedFd) -> Result<Report, SandboxError> {
    let mut buffer = vec![0; MAX_REPORT_BYTES];
    loop {
        match recv(control, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, 0)) | Err(Errno::CONNRESET) => return Err(SandboxError::Lost),
            Ok((_, length)) => return Report::decode(&buffer[..length]).ok_or(SandboxError::Lost),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SandboxError::Unreachable(errno.into())),
        }
    }
}
