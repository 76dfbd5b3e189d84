//! Awaiting the next request of a client that asks again at once.
//!
//! A thread that has nothing to do gives its processor back, and to be woken there when the next request
//! comes takes longer than many calls. So a connection whose client came back soon the last time keeps its
//! thread looking for the next request for a moment. No task may wait for that thread meanwhile, so this
//! is only for a client that has the port to itself.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// How long a thread looks. Waking one on another core took 40 µs, so a client that is woken there needs
/// about that long to read an answer and ask again.
const LOOKS: Duration = Duration::from_micros(100);

/// A client that asks again within this asks at once: its thread and ours had to be woken in between.
const SOON: Duration = Duration::from_micros(200);

/// After a look that found nothing, so many requests come without one.
const PAUSE: u8 = 15;

/// Looks without waiting, and takes nothing.
const PEEK: RecvFlags = RecvFlags::PEEK.union(RecvFlags::DONTWAIT);

/// The clients of a port, to know whether one has it to itself.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// How many there were.
    count: u64,
    /// The number of the one that sent something last.
    last: Arc<AtomicU64>,
}

/// The facts of one connection's client.
#[derive(Debug)]
pub(crate) struct NextRequest {
    number: u64,
    /// The number of the client that sent something last.
    last: Arc<AtomicU64>,
    /// When the last part of an answer left, until something is received.
    answered: Option<Instant>,
    is_expected: bool,
    pause: u8,
}

impl Clients {
    /// One more connection.
    pub(crate) fn connected(&mut self) -> NextRequest {
        self.count += 1;
        NextRequest {
            number: self.count,
            last: Arc::clone(&self.last),
            answered: None,
            is_expected: false,
            pause: 0,
        }
    }
}

impl NextRequest {
    /// A part of an answer has left.
    pub(crate) fn wrote(&mut self) {
        self.answered = Some(Instant::now());
    }

    pub(crate) fn received(&mut self) {
        self.received_at(Instant::now());
    }

    /// The whole answer has left: looks for the next request, if it is expected. It is left in the socket, so
    /// that the runtime finds it there.
    pub(crate) fn look(&mut self, socket: impl AsFd) {
        let has_come = || !matches!(recv(&socket, &mut [0], PEEK), Err(Errno::AGAIN | Errno::INTR));
        while self.looks_on(Instant::now()) && !has_come() {
            // The client may wait for this very processor.
            std::thread::yield_now();
        }
    }

    fn received_at(&mut self, now: Instant) {
        let was_last = self.last.swap(self.number, Ordering::Relaxed) == self.number;
        let Some(answered) = self.answered.take() else { return };
        self.pause = self.pause.saturating_sub(1);
        self.is_expected = was_last && self.pause == 0 && now.duration_since(answered) < SOON;
    }

    fn looks_on(&mut self, now: Instant) -> bool {
        let Some(answered) = self.answered.filter(|_| self.is_expected) else { return false };
        let is_alone = self.last.load(Ordering::Relaxed) == self.number;
        if !is_alone || now.duration_since(answered) >= LOOKS {
            self.is_expected = false;
            self.pause = PAUSE;
        }
        self.is_expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers, and receives the next request so long after that; returns whether the thread then looked for
    /// it, at once and at the end of its look.
    fn exchange(client: &mut NextRequest, gap: Duration) -> (bool, bool) {
        client.wrote();
        let answered = client.answered.unwrap();
        let looked = (client.looks_on(answered), client.looks_on(answered + gap.min(LOOKS)));
        client.received_at(answered + gap);
        looked
    }

    #[test]
    fn a_thread_looks_for_a_client_that_came_back_soon_and_not_for_long() {
        let mut client = Clients::default().connected();
        client.received();
        assert!(!client.looks_on(Instant::now()), "before the first answer");
        assert_eq!(exchange(&mut client, SOON / 2), (false, false), "nothing is known of it");
        let at_once = LOOKS / 2;
        assert_eq!(exchange(&mut client, at_once), (true, true));
        assert_eq!(exchange(&mut client, at_once), (true, true));
        assert_eq!(exchange(&mut client, SOON), (true, false), "in vain");
        for _ in 1..PAUSE {
            assert_eq!(exchange(&mut client, at_once), (false, false), "a pause");
        }
        assert_eq!(exchange(&mut client, at_once), (true, true));
        client.received();
        assert!(!client.looks_on(Instant::now()), "the request runs");
    }

    #[test]
    fn whoever_thinks_before_each_request_is_never_looked_for() {
        let mut client = Clients::default().connected();
        for _ in 0..100 {
            assert_eq!(exchange(&mut client, SOON), (false, false));
        }
    }

    #[test]
    fn nobody_is_looked_for_while_others_ask() {
        let mut clients = Clients::default();
        let (mut one, mut other) = (clients.connected(), clients.connected());
        let at_once = LOOKS / 2;
        for _ in 0..100 {
            assert_eq!(exchange(&mut one, at_once), (false, false));
            assert_eq!(exchange(&mut other, at_once), (false, false));
        }
        assert_eq!(exchange(&mut other, at_once), (false, false), "the other one asked just before");
        assert_eq!(exchange(&mut other, at_once), (true, true), "it has the port to itself");
        other.wrote();
        assert!(other.looks_on(Instant::now()));
        one.received();
        assert!(!other.looks_on(Instant::now()), "somebody else asks");
    }

    #[test]
    fn a_look_ends_when_the_request_is_there_and_leaves_it_there() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut client = Clients::default().connected();
        client.received();
        exchange(&mut client, SOON / 2);
        client.wrote();
        rustix::io::write(&theirs, b"GET").unwrap();
        client.look(&ours);
        assert!(client.is_expected, "it did not look in vain");
        assert_eq!(recv(&ours, &mut [0; 8], RecvFlags::DONTWAIT).map(|(_, bytes)| bytes), Ok(3));
        client.wrote();
        client.look(&ours);
        assert!(!client.is_expected, "a look ends");
    }
}
