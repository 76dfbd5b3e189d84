//! A free slot, and the deadline that starts with it. Commands and file tools have slots of their own.
//!
//! A call that finds no free slot waits briefly and is then refused with the time after which to retry, so
//! that a flood is answered and not queued without end.

use std::sync::Arc;
use std::time::Duration;

use protocol::{ErrorCode, ToolError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Check, Guard};
use crate::Slot;
use crate::runner::call::PendingCall;

/// File tools mostly wait for the page cache: more at once than cores, fewer than would crowd them.
const FILE_SLOTS: usize = 32;

/// Transfers of files. Each may last as long as a slow connection, so they never take the places of tools.
const TRANSFER_SLOTS: usize = 16;

/// Reads of background processes, most of which wait.
const PROCESS_SLOTS: usize = 64;

/// Requests to other machines, each a process of its own.
const WEB_SLOTS: usize = 8;

/// How long a call waits for a slot.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// How much longer than its own timeout a tool may take, to end what it runs.
const OWN_TIMEOUT_MARGIN: Duration = Duration::from_secs(10);

/// The slots of a runner.
pub(in crate::runner) struct Slots {
    commands: usize,
    free: [Arc<Semaphore>; Slot::ALL.len()],
}

impl Guard for Arc<Slots> {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let (slots, own_timeout) = match call.parts() {
            Ok((tool, arguments)) => (self.slots_of(tool.slot()), tool.timeout(arguments)),
            Err(error) => return Err(error).into(),
        };
        let slots = Arc::clone(slots);
        match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => {
                take(call, slot, own_timeout);
                Ok(()).into()
            }
            Err(_) => Check::Wait(Box::pin(async move {
                let waited = tokio::time::timeout(MAX_WAIT, slots.acquire_owned()).await;
                let slot = waited.ok().and_then(Result::ok).ok_or_else(overloaded)?;
                take(call, slot, own_timeout);
                Ok(())
            })),
        }
    }
}

impl Slots {
    pub(in crate::runner) fn new(commands: usize) -> Self {
        Self { commands, free: Slot::ALL.map(|slot| Arc::new(Semaphore::new(most(slot, commands)))) }
    }

    fn slots_of(&self, slot: Slot) -> &Arc<Semaphore> {
        &self.free[slot as usize]
    }

    /// Of each kind, how many are taken and how many there are.
    pub(in crate::runner) fn taken(&self) -> [(Slot, usize, usize); Slot::ALL.len()] {
        Slot::ALL.map(|slot| {
            let most = most(slot, self.commands);
            (slot, most - self.slots_of(slot).available_permits(), most)
        })
    }
}

/// How many slots there are of a kind.
const fn most(slot: Slot, commands: usize) -> usize {
    match slot {
        Slot::File => FILE_SLOTS,
        Slot::Command => commands,
        Slot::Transfer => TRANSFER_SLOTS,
        Slot::Process => PROCESS_SLOTS,
        Slot::Web => WEB_SLOTS,
    }
}

/// Gives the call its slot until its tool is done. A tool's own timeout starts now.
fn take(call: &mut PendingCall, slot: OwnedSemaphorePermit, own_timeout: Option<Duration>) {
    if let Some(own) = own_timeout {
        call.timeout = call.info.since.elapsed() + own + OWN_TIMEOUT_MARGIN;
    }
    call.slot = Some(slot);
}

fn overloaded() -> ToolError {
    let message = "Too many calls are running; this one was not started.";
    ToolError::new(ErrorCode::Overloaded, message).with_retry_after(1)
}
