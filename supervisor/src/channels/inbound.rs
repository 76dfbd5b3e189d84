//! What a channel needs to store what it receives.

use protocol::EventId;

use crate::cancel_signal::CancelSignal;
use crate::health::Board;
use crate::store::Store;

/// Where received messages go.
#[derive(Debug, Clone)]
pub(crate) struct Inbound {
    pub store: Store,
    /// This run's `process.started`.
    pub run: EventId,
    /// Sent when a message asks to cancel what runs.
    pub cancel_signal: CancelSignal,
    /// Where the channel reports how it is.
    pub board: Board,
}
