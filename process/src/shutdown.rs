//! Requests to shut down by signal.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a program to end. From the moment that this exists, none of them kills it.
#[derive(Debug)]
pub struct Requests {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Requests {
    /// Catches the signals. Needs a runtime.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Resolves at the next SIGTERM, SIGINT or SIGHUP, with its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}
