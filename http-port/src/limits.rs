//! How much of the process clients may take: time and connections.

use std::time::Duration;

use crate::progress::Awaited;

/// How long a client may keep us waiting.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimits {
    /// For the head of a request, from the connection or from its first byte.
    pub head: Duration,
    /// For the next request.
    pub idle: Duration,
    /// For the body of a request; reading it then fails with [`crate::BodyTimeout`].
    pub body: Duration,
    /// Without reading anything of an answer.
    pub reading: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { head: seconds(5), idle: seconds(60), body: seconds(30), reading: seconds(30) }
    }
}

impl TimeLimits {
    /// The body's limit is kept by the body itself, which has an answer.
    pub(crate) fn of(&self, awaited: Awaited) -> Option<Duration> {
        match awaited {
            Awaited::Request => Some(self.idle),
            Awaited::Head => Some(self.head),
            Awaited::Body => None,
            Awaited::Reading => Some(self.reading),
        }
    }
}

/// How much of the process clients may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long they may take.
    pub time: TimeLimits,
    /// Connections at once.
    pub connections: usize,
    /// Connections beyond that, which only get an error.
    pub reserve: usize,
}

impl Bounds {
    /// The bounds of a process that may open so many files: most of them are left to its work.
    pub fn for_open_files(open_files: u64) -> Self {
        let quarter = usize::try_from(open_files / 4).unwrap_or(usize::MAX);
        Self { time: TimeLimits::default(), connections: quarter.clamp(16, 1024), reserve: 16 }
    }
}
