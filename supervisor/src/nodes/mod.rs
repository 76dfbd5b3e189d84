//! This node among those that share its database. The leader receives for the channels, runs the schedules and
//! looks after nodes that are gone; every node runs the tasks of its own chats, and answers them.
//!
//! Which node leads, and which is gone, the database's server says: see `store/src/membership.rs`.

pub(crate) mod heard;
pub(crate) mod intake;
pub(crate) mod lead;
pub(crate) mod pick_up;

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
        loop {
            let until = match self.now().filter(|now| now.epoch == leads.epoch) {
                Some(now) => tokio::time::Instant::from_std(now.until),
                None => break,
            };
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
