//! Awaiting the next request of a client that asks again at once.
//!
//! A thread that has nothing to do gives its processor back, and to be woken there when the next request
//! comes takes longer than many calls. So a connection whose client came back soon the last time keeps its
//! thread looking for the next request for a moment. It looks through the runtime, so that everything else
//! that comes meanwhile is done first.

use std::pin::pin;
use std::task::Context;
use std::time::{Duration, Instant};

/// How long a thread looks. Waking one on another core took 40 µs, so a client that is woken there needs
/// about that long to read an answer and ask again.
const LOOKS: Duration = Duration::from_micros(100);

/// A client that asks again within this asks at once: its thread and ours had to be woken in between.
const SOON: Duration = Duration::from_micros(200);

/// After a look that found nothing, so many requests come without one.
const PAUSE: u8 = 15;

/// What is known of one connection's client.
#[derive(Debug, Default)]
pub(crate) struct NextRequest {
    /// When the last part of an answer left, until something is received.
    answered: Option<Instant>,
    is_expected: bool,
    pause: u8,
}

impl NextRequest {
    /// A part of an answer has left. Nobody reads before the task is polled once more.
    pub(crate) fn wrote(&mut self, context: &mut Context<'_>) {
        let now = Instant::now();
        self.answered = Some(now);
        self.look_on(now, context);
    }

    pub(crate) fn received(&mut self) {
        self.received_at(Instant::now());
    }

    /// Nothing has come yet: has the task polled again soon, if that is worth it.
    pub(crate) fn not_yet(&mut self, context: &mut Context<'_>) {
        if self.answered.is_some() {
            self.look_on(Instant::now(), context);
        }
    }

    fn look_on(&mut self, now: Instant, context: &mut Context<'_>) {
        if self.looks_on(now) {
            // The client may wait for this very processor.
            std::thread::yield_now();
            // The runtime looks for events and does everything else before it polls the task again.
            let _ = pin!(tokio::task::yield_now()).poll(context);
        }
    }

    fn received_at(&mut self, now: Instant) {
        let Some(answered) = self.answered.take() else { return };
        self.pause = self.pause.saturating_sub(1);
        self.is_expected = self.pause == 0 && now.duration_since(answered) < SOON;
    }

    fn looks_on(&mut self, now: Instant) -> bool {
        let Some(answered) = self.answered.filter(|_| self.is_expected) else { return false };
        if now.duration_since(answered) >= LOOKS {
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
        let answered = Instant::now();
        client.answered = Some(answered);
        let looked = (client.looks_on(answered), client.looks_on(answered + gap.min(LOOKS)));
        client.received_at(answered + gap);
        looked
    }

    #[test]
    fn a_thread_looks_for_a_client_that_came_back_soon_and_not_for_long() {
        let mut client = NextRequest::default();
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
        client.received_at(Instant::now());
        assert!(!client.looks_on(Instant::now()), "the request runs");
    }

    #[test]
    fn whoever_thinks_before_each_request_is_never_looked_for() {
        let mut client = NextRequest::default();
        for _ in 0..100 {
            assert_eq!(exchange(&mut client, SOON), (false, false));
        }
    }
}
