//! A connection that wakes itself while it runs continues at once.
//!
//! hyper passes the body of a request from the connection to the handler through a channel, and both are one
//! task: with each body the task wakes itself twice while it runs. The runtime puts such a task at the end of
//! its queue and wakes another thread to share the work, which then finds nothing, or takes the connection
//! to another core: a `read` of 5 kB took half as long again.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often a future continues at once before other tasks get their turn.
const MOST_TURNS: usize = 8;

/// Polls a future again as long as it was woken in the meantime.
pub(crate) struct SelfWaking<F> {
    future: Pin<Box<F>>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

#[derive(Default)]
struct Wakes {
    was_woken: AtomicBool,
    /// The task, except while it runs.
    task: AtomicWaker,
}

impl<F> SelfWaking<F> {
    pub(crate) fn new(future: F) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self { future: Box::pin(future), waker: Waker::from(Arc::clone(&wakes)), wakes }
    }
}

impl<F: Future> Future for SelfWaking<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        for _ in 0..MOST_TURNS {
            this.wakes.task.take();
            this.wakes.was_woken.store(false, Ordering::SeqCst);
            if let Poll::Ready(output) = this.future.as_mut().poll(&mut Context::from_waker(&this.waker)) {
                return Poll::Ready(output);
            }
            this.wakes.task.register(context.waker());
            // A wake before the task was there to be woken.
            if !this.wakes.was_woken.load(Ordering::SeqCst) {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.was_woken.store(true, Ordering::SeqCst);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::ready;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls a future that wakes itself so often. How often it was polled by then, and its task woken.
    fn polled(wakes_itself: usize) -> (usize, usize) {
        let (counter, mut polls) = (Arc::<Counter>::default(), 0);
        let mut future = SelfWaking::new(std::future::poll_fn(|context| {
            polls += 1;
            if polls <= wakes_itself {
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        let waker = Waker::from(Arc::clone(&counter));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(future);
        (polls, counter.0.load(Ordering::SeqCst))
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_without_its_task_and_not_for_ever() {
        assert_eq!(polled(0), (1, 0));
        assert_eq!(polled(2), (3, 0));
        assert_eq!(polled(usize::MAX), (MOST_TURNS, 1), "then others get their turn");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_of_another_thread_is_lost() {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let sending = std::thread::spawn(move || {
            for number in 0..20_000 {
                sender.blocking_send(number).unwrap();
            }
        });
        let mut received = 0;
        let counting = std::future::poll_fn(move |context| {
            while ready!(receiver.poll_recv(context)).is_some() {
                received += 1;
            }
            Poll::Ready(received)
        });
        assert_eq!(tokio::spawn(SelfWaking::new(counting)).await.unwrap(), 20_000);
        sending.join().unwrap();
    }
}
