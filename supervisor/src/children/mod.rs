//! Starts, watches, restarts and ends the two other processes.
//!
//! A small process of our own starts them ([`launcher`]), because this one cannot. Each gets an environment
//! built from nothing and only its own secrets. No child outlives the supervisor: its stdin is a pipe that
//! closes when the supervisor exits, however it does.

pub(crate) mod child;
pub(crate) mod child_supervisor;
pub(crate) mod environment;
pub(crate) mod launcher;
pub(crate) mod link;
pub(crate) mod restart;
pub(crate) mod spawn;
pub(crate) mod terminate;
pub(crate) mod tool_server;

use serde::Serialize;
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChildState {
    Starting,
    Ready,
    /// Exited, waiting for its next start.
    Restarting,
}

#[derive(Debug, Clone)]
pub(crate) struct ChildrenStates {
    pub tool_server: watch::Receiver<ChildState>,
    pub worker: watch::Receiver<ChildState>,
}

impl ChildrenStates {
    pub(crate) fn all_ready(&self) -> bool {
        [&self.tool_server, &self.worker].iter().all(|state| *state.borrow() == ChildState::Ready)
    }

    pub(crate) async fn until_all_ready(&mut self) {
        while !self.all_ready() {
            let changed = tokio::select! {
                changed = self.tool_server.changed() => changed,
                changed = self.worker.changed() => changed,
            };
            if changed.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
