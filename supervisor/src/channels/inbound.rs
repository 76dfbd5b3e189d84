//! What a channel needs to store what it receives.

use std::sync::Arc;

use process::quotas::Limits;
use protocol::EventId;
use tokio::sync::Notify;

use crate::approvals::client::Approvals;
use crate::cancel_signal::CancelSignal;
use crate::commands::models::Models;
use crate::health::Board;
use crate::store::Store;
use crate::tool_files::ToolFiles;

/// Where received messages go.
#[derive(Debug, Clone)]
pub(crate) struct Inbound {
    pub store: Store,
    /// This run's `process.started`.
    pub run: EventId,
    /// Sent when a message asks to cancel what runs.
    pub cancel_signal: CancelSignal,
    /// Notified when a chat asks for files.
    pub file_requests: Arc<Notify>,
    /// What a chat can choose from.
    pub models: Models,
    /// What chats and users may use in a day.
    pub limits: Limits,
    /// Where the channel reports how it is.
    pub board: Board,
    /// Where decisions go; none where nothing is received.
    pub approvals: Option<Approvals>,
    /// Where files go that messages bring; none where nothing is received.
    pub files: Option<ToolFiles>,
    /// Sent when such files wait.
    pub files_came: Arc<Notify>,
}
