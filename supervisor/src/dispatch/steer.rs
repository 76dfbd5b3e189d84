//! Passes on to a worker what people say while it runs a task of their chat; `store/src/steering.rs` has the
//! states that a message goes through.

use std::sync::Arc;

use protocol::{TaskId, ToWorker};
use store::steering::{self, Waiting};

use super::state::{DispatchState, Running};
use super::{Dispatcher, LineError, WorkerLink, instant_of};

impl Dispatcher {
    /// Offers the worker what has come since the last time.
    pub(super) async fn offer(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        let Some(running) = state.running.as_mut().filter(|running| running.stop_by.is_none()) else {
            return Ok(());
        };
        let task = running.task.clone();
        let waiting = self.store.write(move |tx| steering::waiting(tx, &task)).await;
        let Waiting { additions, again_at_ms } = waiting.unwrap_or_else(|error| {
            tracing::error!(%error, "could not read what was said while a task runs");
            Waiting::default()
        });
        running.offer_at = again_at_ms.map(instant_of);
        for addition in additions {
            if running.offered.iter().any(|known| known.message == addition.message) {
                continue;
            }
            let (task_id, offered) = (running.task.id.clone(), Box::new(addition.clone()));
            running.offered.push(addition);
            link.send(&ToWorker::Add { task_id, addition: offered }).await?;
        }
        Ok(())
    }

    /// A message is in the worker's conversation: it is a part of the task, before anything that follows.
    pub(super) async fn added(&self, running: &Running, message: &TaskId) {
        // What earlier attempts had is a part of it already.
        let Some(addition) = running.offered.iter().find(|offered| offered.message == *message) else {
            return;
        };
        // Cloned for each try.
        let facts = Arc::new((running.task.clone(), addition.clone(), self.run.clone()));
        let taken = self.store.write_until_done(move |tx| steering::take(tx, &facts.0, &facts.1, &facts.2));
        match taken.await {
            Ok(true) => tracing::info!(task_id = %running.task.id, %message, "added a message to a task"),
            Ok(false) => tracing::warn!(%message, "an added message was taken back meanwhile"),
            Err(error) => tracing::error!(%error, %message, "could not note that a message was added"),
        }
    }
}
