//! The two other processes: started, watched, started again, ended.
//!
//! Each runs with an environment made from nothing and with its own secrets alone. No child outlives the
//! supervisor: its stdin is a pipe that ends when the supervisor does, by whatever cause.

pub mod child_supervisor;
pub mod environment;
pub mod link;
pub mod restart;
pub mod spawn;
pub mod terminate;
pub mod tool_server;

use serde::Serialize;
use tokio::sync::watch;

/// How a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildState {
    /// It was started and is not yet ready.
    Starting,
    /// It works.
    Ready,
    /// It ended and waits for its next start.
    Restarting,
}

/// How both children are, as it changes.
#[derive(Debug, Clone)]
pub struct ChildrenStates {
    /// The tool server.
    pub tool_server: watch::Receiver<ChildState>,
    /// The worker.
    pub worker: watch::Receiver<ChildState>,
}

impl ChildrenStates {
    /// Whether both are ready.
    pub fn all_ready(&self) -> bool {
        [&self.tool_server, &self.worker].iter().all(|state| *state.borrow() == ChildState::Ready)
    }

    /// Resolves once both are ready.
    pub async fn until_all_ready(&mut self) {
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
