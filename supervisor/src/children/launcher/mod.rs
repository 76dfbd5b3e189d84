//! The launcher: a small process that starts the children, so that the supervisor itself can give up to
//! start any program.
//!
//! It is this program, executed again before the supervisor confines itself, because a child would inherit
//! that confinement, and below it no command could be sandboxed. It learns at its start which programs there
//! are, with their arguments and environments; from then on it is only asked to start one of them by number,
//! with descriptors that it hands on without reading them. So it never has a secret, and an attacker who
//! takes over the supervisor can have it start nothing else. It sends signals to what it started alone, and
//! ends with the supervisor, after its children have ended.

mod serve;

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use process::{fd_passing, secrets};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};

use super::child::Child;
use super::spawn::{Given, Program, SpawnError};
use crate::health::{Board, PartName, Reading};

pub use serve::serve;

/// How often the launcher is asked whether it lives.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// A launcher that takes longer than this for an answer is not well.
const QUIET: Duration = Duration::from_secs(5);
/// Without an answer for this long, it is lost.
const SILENCE: Duration = Duration::from_secs(12);
/// The least time for an answer, however long this process itself was suspended.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

/// The byte that asks for an answer, instead of the number of a program.
const ASKED: u8 = u8::MAX;

/// Why there is no launcher any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    #[error("has ended")]
    Ended,
    #[error("gave no answer for {} s", (SILENCE + LEAST_PATIENCE).as_secs())]
    Silent,
}

/// The hidden command that makes this program the launcher.
pub const COMMAND: &str = "launcher";

/// The launcher, as the supervisor sees it. When this is dropped, the launcher ends after its children.
#[derive(Debug)]
pub struct Launcher {
    socket: UnixStream,
    programs: Vec<Program>,
    _process: std::process::Child,
}

impl Launcher {
    /// Starts the process, for these programs. `data` only shows in its command line.
    pub(crate) fn start(programs: Vec<Program>, data: &Path) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--data-dir").arg(data).arg(COMMAND).env_clear().process_group(0);
        let process = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn()?;
        drop(command);
        let described = serde_json::to_vec(&programs)?;
        let length = u32::try_from(described.len()).map_err(io::Error::other)?;
        (&socket).write_all(&length.to_le_bytes())?;
        (&socket).write_all(&described)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, programs, _process: process })
    }

    /// Starts one of the programs; returns once it was executed.
    pub(crate) async fn launch(&self, name: &str, given: Given) -> Result<Child, SpawnError> {
        let known = self.programs.iter().position(|program| program.name == name);
        let index = known.ok_or(io::ErrorKind::NotFound).map_err(launcher_error)?;
        let program = &self.programs[index];
        let number = u8::try_from(index).map_err(|_| launcher_error(io::ErrorKind::InvalidInput))?;
        let secrets = secrets::into_pipe(&given.secrets)?;
        let (control, their_control) = UnixStream::pair().map_err(SpawnError::Descriptor)?;
        let (their_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC).map_err(descriptor_error)?;
        let stdout = program.reads_stdout.then(|| pipe_with(PipeFlags::CLOEXEC)).transpose();
        let (stdout, their_stdout) = stdout.map_err(descriptor_error)?.unzip();
        let mut passed = vec![OwnedFd::from(their_control), their_stdin];
        passed.extend(their_stdout);
        passed.extend(given.descriptors);
        passed.push(secrets);
        let borrowed: Vec<_> = passed.iter().map(OwnedFd::as_fd).collect();
        fd_passing::send(&self.socket, number, &borrowed).map_err(launcher_error)?;
        drop(passed);
        let (control, stdin, stdout) = ours(control, stdin, stdout).map_err(SpawnError::Descriptor)?;
        let started = Child::started(control, stdin, stdout).await.map_err(launcher_error)?;
        started.map_err(|error| SpawnError::Start(program.path.clone(), error))
    }

    /// Resolves when no child can be started or signalled any more. Asks the process all the time, and tells
    /// `board` when no answer comes.
    pub(crate) async fn lost(&self, board: &Board) -> Loss {
        let watched = self.socket.try_clone().and_then(tokio::net::UnixStream::from_std);
        let Ok(mut answers) = watched else { return Loss::Ended };
        loop {
            let asked = Instant::now();
            if (&self.socket).write_all(&[ASKED]).is_err() {
                return Loss::Ended;
            }
            // The last one is for the case that this process itself was suspended, too.
            for patience in [QUIET, SILENCE - QUIET, LEAST_PATIENCE] {
                match timeout(patience, answers.read_u8()).await {
                    Ok(Ok(_)) if asked.elapsed() >= QUIET => {
                        board.set(PartName::Supervisor, Reading::ok("its launcher answers again"));
                        break;
                    }
                    Ok(Ok(_)) => break,
                    Ok(Err(_)) => return Loss::Ended,
                    Err(_) if patience == LEAST_PATIENCE => return Loss::Silent,
                    Err(_) => board.set(
                        PartName::Supervisor,
                        Reading::failed(
                            "its launcher gives no answer, so no other program can be started",
                            "Wait; the supervisor ends if it stays so. Then start it, if nothing else does.",
                        ),
                    ),
                }
            }
            sleep_until(asked + ASK_EVERY).await;
        }
    }
}

type OurEnds = (tokio::net::UnixStream, pipe::Sender, Option<pipe::Receiver>);

fn ours(control: UnixStream, stdin: OwnedFd, stdout: Option<OwnedFd>) -> io::Result<OurEnds> {
    control.set_nonblocking(true)?;
    Ok((
        tokio::net::UnixStream::from_std(control)?,
        pipe::Sender::from_owned_fd(stdin)?,
        stdout.map(pipe::Receiver::from_owned_fd).transpose()?,
    ))
}

fn launcher_error(error: impl Into<io::Error>) -> SpawnError {
    SpawnError::Launcher(error.into())
}

fn descriptor_error(errno: rustix::io::Errno) -> SpawnError {
    SpawnError::Descriptor(errno.into())
}
