//! Ends a child: by closing its stdin, then with SIGTERM, then with SIGKILL.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use process::exit::BAD_SETTINGS;

use super::child::Child;

/// How long a child may take to exit once its stdin is closed.
const AFTER_STDIN: Duration = Duration::from_secs(3);
/// How long it may take to exit after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);
/// How long its end may take to be reported after SIGKILL, which the launcher sends.
const AFTER_KILL: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExitReport {
    /// Its exit code or signal, in words.
    pub status: String,
    /// Whether it exited because its settings are invalid.
    pub rejected_settings: bool,
}

/// Waits for a child whose stdin is closed, signals it if it takes too long, and reaps it.
pub(crate) async fn terminate(child: &mut Child) -> ExitReport {
    let steps: [(_, fn(&mut Child) -> _); 2] = [(AFTER_STDIN, Child::terminate), (AFTER_TERM, Child::kill)];
    for (patience, signal) in steps {
        if let Ok(waited) = tokio::time::timeout(patience, child.wait()).await {
            return ExitReport::of(waited.ok());
        }
        if let Err(error) = signal(child) {
            tracing::warn!(%error, "could not signal a child");
        }
    }
    match tokio::time::timeout(AFTER_KILL, child.wait()).await {
        Ok(waited) => ExitReport::of(waited.ok()),
        Err(_) => ExitReport::unknown(),
    }
}

impl ExitReport {
    /// The launcher said nothing. It ends the child as soon as it can, and is watched itself.
    fn unknown() -> Self {
        tracing::error!("the launcher does not report the end of a child");
        Self { status: "its end was not reported".to_owned(), rejected_settings: false }
    }

    pub(crate) fn never_started() -> Self {
        Self { status: "it could not be started".to_owned(), rejected_settings: false }
    }

    fn of(exit: Option<ExitStatus>) -> Self {
        let status = match exit.map(|exit| (exit.code(), exit.signal())) {
            Some((Some(code), _)) => format!("exit {code}"),
            Some((None, Some(signal))) => format!("signal {signal}"),
            Some((None, None)) | None => "unknown".to_owned(),
        };
        let code = exit.and_then(|exit| exit.code());
        Self { status, rejected_settings: code == Some(i32::from(BAD_SETTINGS)) }
    }
}
