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
        self.answered = Some(Instant::now());
        self.look_again(context);
    }

    pub(crate) fn received(&mut self) {
        let Some(answered) = self.answered.take() else { return };
        self.pause = self.pause.saturating_sub(1);
        self.is_expected = self.pause == 0 && answered.elapsed() < SOON;
    }

    /// Nothing has come yet: has the task polled again soon, if that is worth it.
    pub(crate) fn look_again(&mut self, context: &mut Context<'_>) {
        let Some(answered) = self.answered.filter(|_| self.is_expected) else { return };
        if answered.elapsed() < LOOKS {
            // The client may wait for this very processor.
            std::thread::yield_now();
            // The runtime looks for events and does everything else before it polls the task again.
            let _ = pin!(tokio::task::yield_now()).poll(context);
        } else {
            self.is_expected = false;
            self.pause = PAUSE;
        }
    }
}
