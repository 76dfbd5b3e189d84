//! A running child of the launcher, as the supervisor sees it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What the launcher says about one child, as a JSON line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Started {
        pid: u32,
    },
    /// It could not be started.
    Failed {
        errno: i32,
    },
    /// It has ended, with this status of `wait(2)`.
    Ended {
        status: i32,
    },
}

/// The bytes that ask the launcher for a signal to the child.
pub(super) const TERMINATE: u8 = b't';
pub(super) const KILL: u8 = b'k';

/// A child. When this is dropped, the child is killed.
#[derive(Debug)]
pub(crate) struct Child {
    pid: u32,
    pub stdin: Option<pipe::Sender>,
    pub stdout: Option<pipe::Receiver>,
    reports: Lines<BufReader<UnixStream>>,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Waits until the launcher has started a child, whose reports come over `control`. The inner error is
    /// that of the start.
    pub(super) async fn started(
        control: UnixStream,
        stdin: pipe::Sender,
        stdout: Option<pipe::Receiver>,
    ) -> io::Result<io::Result<Self>> {
        let mut reports = BufReader::new(control).lines();
        Ok(match next(&mut reports).await? {
            Report::Started { pid } => Ok(Self { pid, stdin: Some(stdin), stdout, reports, ended: None }),
            Report::Failed { errno } => Err(io::Error::from_raw_os_error(errno)),
            Report::Ended { .. } => Err(io::ErrorKind::InvalidData.into()),
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Closes its stdin and waits until it has ended. May be dropped and called again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        match next(&mut self.reports).await? {
            Report::Ended { status } => Ok(*self.ended.insert(ExitStatus::from_raw(status))),
            Report::Started { .. } | Report::Failed { .. } => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Asks it to exit.
    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.ask(TERMINATE)
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.ask(KILL)
    }

    fn ask(&mut self, signal: u8) -> io::Result<()> {
        self.reports.get_ref().get_ref().try_write(&[signal]).map(drop)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // If the launcher is gone, so is the child's stdin, by which it ends.
            let _ = self.kill();
        }
    }
}

async fn next(reports: &mut Lines<BufReader<UnixStream>>) -> io::Result<Report> {
    let line = reports.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_str(&line)?)
}
