//! What a connection waits for, as its stream and its bodies note it and the accept loop reads it.
//!
//! Each change is one atomic store, so that calls pay nothing for it. The accept loop closes a connection
//! only by replacing the state that it saw: a request that began in between is served, and one that comes
//! later is never begun.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// What a client keeps us waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// The next request.
    Request,
    /// The rest of a head, or the first one.
    Head,
    Body,
    /// Reading of what we send.
    Reading,
}

/// What a client keeps us waiting for, and since when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) awaited: Awaited,
    pub(crate) since: Instant,
    seen: u64,
}

#[derive(Debug)]
pub(crate) struct Progress {
    opened: Instant,
    /// A phase in the top byte, and below it when that began, in milliseconds since `opened`.
    state: AtomicU64,
    /// Since when the client has read nothing; 0 when nothing is stuck.
    stuck_since: AtomicU64,
    closed: Notify,
    last_request: Notify,
}

const HEAD: u64 = 1 << 56;
const IDLE: u64 = 2 << 56;
const BODY: u64 = 3 << 56;
const ANSWERING: u64 = 4 << 56;
const CLOSED: u64 = 5 << 56;
const PHASE: u64 = 0xff << 56;

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            opened: Instant::now(),
            state: AtomicU64::new(HEAD),
            stuck_since: AtomicU64::new(0),
            closed: Notify::new(),
            last_request: Notify::new(),
        }
    }

    /// Bytes arrived: the first ones of a request, if none is running.
    pub(crate) fn received(&self) {
        self.change(&[IDLE], HEAD);
    }

    /// A head is complete. `false` if the connection was closed and the request must not begin.
    pub(crate) fn begin_request(&self, has_body: bool) -> bool {
        self.change(&[HEAD, IDLE], if has_body { BODY } else { ANSWERING })
    }

    pub(crate) fn body_ended(&self) {
        self.change(&[BODY], ANSWERING);
    }

    pub(crate) fn answered(&self) {
        self.change(&[BODY, ANSWERING], IDLE);
    }

    /// Whether no request runs, and none has begun to arrive.
    pub(crate) fn is_answered(&self) -> bool {
        self.state.load(Ordering::Acquire) & PHASE == IDLE
    }

    pub(crate) fn write_is_stuck(&self) {
        let _ = self.stuck_since.compare_exchange(0, self.now().max(1), Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn wrote(&self) {
        if self.stuck_since.load(Ordering::Acquire) != 0 {
            self.stuck_since.store(0, Ordering::Release);
            // The answer may have left our hands before the client had read it.
            self.change(&[IDLE], IDLE);
        }
    }

    /// What the client keeps us waiting for; none while we work.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        let seen = self.state.load(Ordering::Acquire);
        let stuck = self.stuck_since.load(Ordering::Acquire);
        let (awaited, since) = match seen & PHASE {
            CLOSED => return None,
            _ if stuck != 0 => (Awaited::Reading, stuck),
            HEAD => (Awaited::Head, seen & !PHASE),
            IDLE => (Awaited::Request, seen & !PHASE),
            BODY => (Awaited::Body, seen & !PHASE),
            _ => return None,
        };
        Some(Waiting { awaited, since: self.opened + Duration::from_millis(since), seen })
    }

    /// Closes the connection unless it has gone on since it was seen. Says whether it was closed.
    pub(crate) fn close(&self, waiting: &Waiting) -> bool {
        let closed =
            self.state.compare_exchange(waiting.seen, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if closed {
            self.closed.notify_one();
        }
        closed
    }

    /// Closes the connection after its running request, and at once if there is none.
    pub(crate) fn finish(&self) {
        match self.waiting() {
            Some(waiting) if waiting.awaited != Awaited::Reading && self.close(&waiting) => {}
            Some(_) | None => self.last_request.notify_one(),
        }
    }

    /// Resolves when the connection is closed from here.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Resolves when the running request is the last.
    pub(crate) async fn last_request(&self) {
        self.last_request.notified().await;
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX) & !PHASE
    }

    /// Enters a phase, from one of others only. Says whether it was entered.
    fn change(&self, from: &[u64], to: u64) -> bool {
        let mut seen = self.state.load(Ordering::Acquire);
        while from.contains(&(seen & PHASE)) {
            let next = to | self.now();
            match self.state.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(other) => seen = other,
            }
        }
        false
    }
}
