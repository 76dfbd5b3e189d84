//! Slots: how many calls run at once, with commands and file tools apart.
//!
//! A call that finds no place waits a little; when none becomes free it is refused, with the time after
//! which to try again, so that a flood is answered and not queued without end.

use std::sync::Arc;
use std::time::Duration;

use protocol::{ErrorCode, ToolError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Slot;

/// File tools mostly wait for the page cache: more at once than cores, fewer than would crowd them.
const FILE_SLOTS: usize = 32;

/// Commands bring processes of their own.
const COMMAND_SLOTS: usize = 8;

/// How long a call waits for a place.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Slots {
    files: Arc<Semaphore>,
    commands: Arc<Semaphore>,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            files: Arc::new(Semaphore::new(FILE_SLOTS)),
            commands: Arc::new(Semaphore::new(COMMAND_SLOTS)),
        }
    }

    /// A place, held until the permit is dropped.
    pub(super) async fn take(&self, slot: Slot) -> Result<OwnedSemaphorePermit, ToolError> {
        let slots = match slot {
            Slot::File => &self.files,
            Slot::Command => &self.commands,
        };
        match tokio::time::timeout(PATIENCE, Arc::clone(slots).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => {
                let message = "Too many calls are running; this one was not begun.";
                Err(ToolError::new(ErrorCode::Overloaded, message).with_retry_after(1))
            }
        }
    }
}
