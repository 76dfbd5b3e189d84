//! Ends a child: first by the end of its stdin, then by SIGTERM, then by SIGKILL.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use process::exit::BAD_SETTINGS;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

/// How long a child may take after its stdin ended.
const AFTER_STDIN: Duration = Duration::from_secs(3);
/// How long it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// In words.
    pub how: String,
    /// Whether it said that its settings can not work.
    pub refuses_its_settings: bool,
}

/// Waits for a child whose stdin is closed, and helps it along. Nothing of it is left afterwards.
pub async fn end(child: &mut Child) -> Ended {
    for (patience, signal) in [(AFTER_STDIN, Signal::TERM), (AFTER_TERM, Signal::KILL)] {
        if let Ok(waited) = tokio::time::timeout(patience, child.wait()).await {
            return Ended::of(waited.ok());
        }
        send(child, signal);
    }
    Ended::of(child.wait().await.ok())
}

impl Ended {
    /// A child that never was.
    pub fn before_its_start() -> Self {
        Self { how: "it could not be started".to_owned(), refuses_its_settings: false }
    }

    fn of(status: Option<ExitStatus>) -> Self {
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("exit {code}"),
            Some((None, Some(signal))) => format!("signal {signal}"),
            Some((None, None)) | None => "unknown".to_owned(),
        };
        let code = status.and_then(|status| status.code());
        Self { how, refuses_its_settings: code == Some(i32::from(BAD_SETTINGS)) }
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid
        && let Err(error) = kill_process(pid, signal)
    {
        tracing::warn!(%error, ?signal, "a child could not be signalled");
    }
}
