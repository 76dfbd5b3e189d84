//! Wakes the workers' slots when somebody asked to cancel a task, or has said something in a chat.
//!
//! What it is about is stored in the inbox. The signal only says that this is worth reading now: a spurious
//! signal does no harm, and one that a slot is not waiting for is kept for it.

use std::sync::Arc;

use tokio::sync::watch;

/// Sent after a commit that may concern running tasks.
pub(crate) type CancelSignal = Arc<watch::Sender<()>>;
