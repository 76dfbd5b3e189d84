//! The tool server's end of a proxy.

use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::stream;

/// How long the rest of a note may take once it has begun.
const NOTE: Duration = Duration::from_secs(1);

/// What a proxy allows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProxyRules {
    /// Patterns of hosts; one without a port means 443 for tunnels and 80 for requests in the clear.
    pub domains: Vec<String>,
    /// The list as the operator wrote it, for what refusals say.
    pub setting: String,
}

/// A name that a proxy refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The host, with its port if that is not the usual one.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A proxy that runs. When this is dropped, it ends with all its connections.
#[derive(Debug)]
pub struct Proxy(Mutex<(UnixStream, Vec<Refused>)>);

impl Proxy {
    pub(crate) fn behind(stream: UnixStream) -> Self {
        let _ = stream.set_read_timeout(Some(NOTE));
        Self(Mutex::new((stream, Vec::new())))
    }

    /// All that it has refused so far, each name once, at most 32.
    pub fn refused(&self) -> Vec<Refused> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, refused) = &mut *state;
        while is_readable(stream)
            && let Ok(note) = stream::receive(stream)
        {
            refused.push(note);
        }
        refused.clone()
    }
}

fn is_readable(stream: &UnixStream) -> bool {
    let mut watched = [PollFd::new(stream, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec::default())) == Ok(1)
}
