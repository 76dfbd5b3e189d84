//! This node among those that share its database. The leader receives for the channels, runs the schedules
//! and looks after nodes that are gone; every node runs the tasks of its own chats, and answers them.
//!
//! Which node leads, and which is gone, the database's server says: see `store/src/membership.rs`.

pub(crate) mod heard;
pub(crate) mod intake;
pub(crate) mod lead;
pub(crate) mod pick_up;
pub(crate) mod place;

use std::future::Future;
use std::time::Instant;

use store::membership::{Leadership, Standing};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Whether this node leads.
#[derive(Debug, Clone)]
pub(crate) struct Leading(watch::Receiver<Standing>);

impl Leading {
    pub(crate) const fn new(standing: watch::Receiver<Standing>) -> Self {
        Self(standing)
    }

    /// The leadership, while it holds.
    pub(crate) fn now(&self) -> Option<Leadership> {
        self.0.borrow().leads.filter(|leads| leads.until > Instant::now())
    }

    /// Resolves at the next sign of how this node stands; never again once it is no node any more.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Does `work` while this node leads, each time that it leads, until `stop`. What is done gets a token of
    /// its own, which ends it before another node can lead.
    pub(crate) async fn while_it_leads<W, F>(mut self, stop: CancellationToken, work: W)
    where
        W: Fn(Leadership, CancellationToken) -> F,
        F: Future<Output = ()>,
    {
        while !stop.is_cancelled() {
            match self.now() {
                Some(leads) => self.lead(leads, &stop, &work).await,
                None => drop(stop.run_until_cancelled(self.changed()).await),
            }
        }
    }

    async fn lead<W, F>(&mut self, leads: Leadership, stop: &CancellationToken, work: &W)
    where
        W: Fn(Leadership, CancellationToken) -> F,
        F: Future<Output = ()>,
    {
        let ends = stop.child_token();
        let mut work = std::pin::pin!(work(leads, ends.clone()));
        while let Some(now) = self.now().filter(|now| now.epoch == leads.epoch) {
            let until = tokio::time::Instant::from_std(now.until);
            tokio::select! {
                () = &mut work => return,
                () = stop.cancelled() => break,
                () = tokio::time::sleep_until(until) => {}
                () = self.changed() => {}
            }
        }
        ends.cancel();
        work.await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn standing(epoch: i64, lasts: Duration) -> Standing {
        Standing { leads: Some(Leadership { epoch, until: Instant::now() + lasts }) }
    }

    #[tokio::test]
    async fn work_begins_with_the_leadership_and_is_over_when_that_is_not_renewed_or_lost() {
        let (sender, standing_now) = watch::channel(Standing::default());
        let (began, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let stop = CancellationToken::new();
        let (counts_begun, counts_ended) = (Arc::clone(&began), Arc::clone(&ended));
        let work = move |_, ends: CancellationToken| {
            counts_begun.fetch_add(1, Ordering::SeqCst);
            let ended = Arc::clone(&counts_ended);
            async move {
                ends.cancelled().await;
                ended.fetch_add(1, Ordering::SeqCst);
            }
        };
        let leading = tokio::spawn(Leading::new(standing_now).while_it_leads(stop.clone(), work));
        let until = async |count: &AtomicUsize, wanted| {
            while count.load(Ordering::SeqCst) != wanted {
                tokio::task::yield_now().await;
            }
        };
        assert_eq!(began.load(Ordering::SeqCst), 0);
        // It is not renewed.
        sender.send_replace(standing(1, Duration::from_millis(50)));
        until(&ended, 1).await;
        // A renewal keeps it, another epoch is another work, and a loss ends it.
        sender.send_replace(standing(2, Duration::from_secs(60)));
        until(&began, 2).await;
        sender.send_replace(standing(2, Duration::from_secs(90)));
        sender.send_replace(standing(3, Duration::from_secs(60)));
        until(&began, 3).await;
        assert_eq!(ended.load(Ordering::SeqCst), 2);
        sender.send_replace(Standing::default());
        until(&ended, 3).await;
        sender.send_replace(standing(4, Duration::from_secs(60)));
        until(&began, 4).await;
        stop.cancel();
        leading.await.unwrap();
        assert_eq!(ended.load(Ordering::SeqCst), 4);
    }
}
