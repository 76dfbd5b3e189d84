//! Starts, watches, restarts and ends the other processes.
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

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

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
    /// One for each worker.
    pub workers: Vec<watch::Receiver<ChildState>>,
}

impl ChildrenStates {
    pub(crate) fn ready_workers(&self) -> usize {
        self.workers.iter().filter(|worker| *worker.borrow() == ChildState::Ready).count()
    }

    /// Resolves when all are ready.
    pub(crate) async fn until_all_ready(mut self) {
        for state in std::iter::once(&mut self.tool_server).chain(&mut self.workers) {
            if state.wait_for(|state| *state == ChildState::Ready).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// When the run has to end, once somebody has asked for its end; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopBy(Arc<OnceLock<Instant>>);

impl StopBy {
    pub(crate) fn set(&self, stop_by: Instant) {
        let _ = self.0.set(stop_by);
    }

    pub(crate) fn get(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}
