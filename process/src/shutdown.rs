//! Requests by signal: to end, or to read the settings again.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// To end; with the signal's name.
    End(&'static str),
    /// To read the settings again.
    Reload,
}

/// What SIGHUP asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hangup {
    /// To end: the terminal was closed.
    Ends,
    /// To read the settings again.
    Reloads,
}

impl Hangup {
    /// SIGHUP reloads, unless this process uses a terminal, whose end it then is.
    pub fn of_a_service() -> Self {
        let uses_terminal =
            io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
        if uses_terminal { Self::Ends } else { Self::Reloads }
    }
}

/// The signals that ask a program for something. From the moment that this exists, none of them kills it.
#[derive(Debug)]
pub struct Requests {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    on_hangup: Hangup,
}

impl Requests {
    /// Catches the signals. Needs a runtime.
    pub fn catch(on_hangup: Hangup) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            on_hangup,
        })
    }

    /// Resolves at the next SIGTERM, SIGINT or SIGHUP.
    pub async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.terminate.recv() => Request::End("SIGTERM"),
            _ = self.interrupt.recv() => Request::End("SIGINT"),
            _ = self.hangup.recv() => match self.on_hangup {
                Hangup::Ends => Request::End("SIGHUP"),
                Hangup::Reloads => Request::Reload,
            },
        }
    }
}
