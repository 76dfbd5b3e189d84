//! Requests to shut down by signal.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first SIGTERM, SIGINT or SIGHUP, with its name.
pub async fn requested() -> std::io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
        _ = hangup.recv() => Ok("SIGHUP"),
    }
}
