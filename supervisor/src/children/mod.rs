//! Starts, watches, restarts and ends the other processes.
//!
//! A small process of our own starts them ([`launcher`]), because this one cannot. Each gets an environment
//! built from nothing and only its own secrets. No child outlives the supervisor: its stdin is a pipe that
//! closes when the supervisor exits, however it does.

pub(crate) mod child;
pub(crate) mod child_supervisor;
pub mod environment;
pub(crate) mod fetch_secrets;
pub mod launcher;
pub(crate) mod link;
pub(crate) mod restart;
pub mod spawn;
pub(crate) mod terminate;
pub(crate) mod tool_health;
pub mod tool_server;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::elsewhere::Elsewhere;

/// A child that was ready and said nothing for this long is not well. One that stays silent is replaced.
const QUIET: Duration = Duration::from_secs(8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildState {
    Starting,
    Ready {
        /// When it was heard of last.
        heard: Instant,
    },
    /// Exited, waiting for its next start.
    Restarting,
}

impl ChildState {
    pub(crate) fn ready() -> Self {
        Self::Ready { heard: Instant::now() }
    }

    pub(crate) const fn is_ready(self) -> bool {
        matches!(self, Self::Ready { .. })
    }

    /// Notes that a ready child was heard of. This wakes no one who waits for another state.
    pub(crate) fn note_heard(state: &watch::Sender<Self>) {
        state.send_if_modified(|state| {
            if let Self::Ready { heard } = state {
                *heard = Instant::now();
            }
            false
        });
    }
}

/// How a child is, for health: by when it was heard of, not only by what was last said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    Starting,
    Live,
    /// Ready, but not heard of for this long.
    Quiet(Duration),
    Restarting,
    /// Nothing looks after it any more.
    Abandoned,
}

fn liveness(state: &watch::Receiver<ChildState>) -> Liveness {
    if state.has_changed().is_err() {
        return Liveness::Abandoned;
    }
    match *state.borrow() {
        ChildState::Starting => Liveness::Starting,
        ChildState::Restarting => Liveness::Restarting,
        ChildState::Ready { heard } if heard.elapsed() > QUIET => Liveness::Quiet(heard.elapsed()),
        ChildState::Ready { .. } => Liveness::Live,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ChildrenStates {
    pub tool_server: watch::Receiver<ChildState>,
    /// Where the tool server is, if not on this machine.
    pub elsewhere: Option<Elsewhere>,
    /// Why the tool server cannot write its journal, if so.
    pub journal_trouble: watch::Receiver<Option<String>>,
    /// One for each worker.
    pub workers: Vec<watch::Receiver<ChildState>>,
}

impl ChildrenStates {
    /// How many workers can take a task or work on one.
    pub(crate) fn live_workers(&self) -> usize {
        self.workers.iter().filter(|worker| liveness(worker) == Liveness::Live).count()
    }

    pub(crate) fn tool_server_liveness(&self) -> Liveness {
        liveness(&self.tool_server)
    }

    /// Resolves when all are ready.
    pub(crate) async fn until_all_ready(mut self) {
        for state in std::iter::once(&mut self.tool_server).chain(&mut self.workers) {
            if state.wait_for(|state| state.is_ready()).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// When the run has to end, once somebody has asked for its end; clones share it.
pub(crate) type StopBy = Arc<OnceLock<Instant>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_counts_while_it_is_heard_of_and_looked_after() {
        let (sender, state) = watch::channel(ChildState::Starting);
        let (_, journal_trouble) = watch::channel(None);
        let workers = vec![state.clone()];
        let states = ChildrenStates { tool_server: state.clone(), elsewhere: None, journal_trouble, workers };
        assert_eq!(states.live_workers(), 0);
        sender.send_replace(ChildState::ready());
        assert_eq!(states.live_workers(), 1);
        let heard = Instant::now().checked_sub(QUIET * 2).unwrap();
        sender.send_replace(ChildState::Ready { heard });
        assert!(matches!(states.tool_server_liveness(), Liveness::Quiet(time) if time >= QUIET * 2));
        assert_eq!(states.live_workers(), 0);
        ChildState::note_heard(&sender);
        assert_eq!(states.live_workers(), 1);
        drop(sender);
        assert_eq!((states.live_workers(), liveness(&state)), (0, Liveness::Abandoned));
    }
}
