//! What a channel's tools may do: add a message to the outbox of a chat that the channel accepts.

use std::time::Instant;

use protocol::{ErrorCode, MessageId, ToolError};
use reqwest::Method;
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use toolkit::Call;
use toolkit::arguments::invalid;

use crate::channel::content::StoredFile;
use crate::channel::{ChannelName, Channels, Chat, Content, Delivery, Rejection};
use crate::file_copy::copy;
use crate::store::{Store, StoreError, inbox, outbox, outgoing_files};
use crate::tool_files::{Caller, ToolFiles};

#[derive(Clone)]
pub(crate) struct Sending {
    pub(crate) store: Store,
    pub(crate) channels: Channels,
}

impl Sending {
    /// Queues a message under the call, and returns the number of its row. It is stored when this returns.
    pub(crate) fn queue(
        &self,
        call: &Call,
        channel: &ChannelName,
        chat_id: &str,
        content: Content,
    ) -> Result<i64, ToolError> {
        let (contents, delivery) = self.prepared(channel, chat_id, content)?;
        let (chat, parent) = (Chat::new(channel.clone(), chat_id), call.id.clone());
        // A row without a task: it is no part of the reply.
        let queue =
            self.store.write(move |tx| outbox::queue(tx, None, &chat, contents, delivery, Some(&parent)));
        wait(queue).map_err(not_stored).map(|rows| rows.first().copied().unwrap_or_default())
    }

    /// The messages that a content is sent as, if the channel sends anything to the chat.
    pub(crate) fn prepared(
        &self,
        channel: &ChannelName,
        chat_id: &str,
        content: Content,
    ) -> Result<(Vec<Content>, Delivery), ToolError> {
        let Some(channel) = self.channels.get(channel) else { return Err(not_here("is unknown")) };
        Ok((channel.prepare(chat_id, content).map_err(rejected)?, channel.delivery()))
    }

    /// Fails if the channel would not send anything to the chat.
    pub(crate) fn may_send(&self, channel: &ChannelName, chat_id: &str) -> Result<(), ToolError> {
        self.prepared(channel, chat_id, Content::Text("?".to_owned())).map(drop)
    }

    /// A file as it is now for the call's session, in the database.
    pub(crate) fn fetch(&self, files: &ToolFiles, call: &Call, path: &str) -> Result<StoredFile, ToolError> {
        let request = Caller::from(call).sign(files.request(Method::GET, path, &call.session));
        let left = call.deadline.saturating_duration_since(Instant::now());
        wait(tokio::time::timeout(left, copy(request, &self.store))).unwrap_or_else(|_| {
            Err(ToolError::new(ErrorCode::Timeout, "The file was not read before the call's deadline."))
        })
    }

    /// The first part of a stored file.
    pub(crate) fn beginning(&self, file: &StoredFile) -> Result<Option<Vec<u8>>, ToolError> {
        let id = file.id.clone();
        wait(self.store.write(move |tx| outgoing_files::part(tx, &id, 0))).map_err(not_stored)
    }

    /// Deletes a stored file that is not sent.
    pub(crate) fn forget(&self, file: StoredFile) -> Result<(), ToolError> {
        wait(self.store.write(move |tx| outgoing_files::delete(tx, &file.id))).map_err(not_stored)
    }

    /// The message that the call's task is about.
    pub(crate) fn asked_in(&self, call: &Call) -> Result<Option<MessageId>, ToolError> {
        let Some(task) = call.task.clone() else { return Ok(None) };
        wait(self.store.write(move |tx| inbox::message_id(tx, &task))).map_err(not_stored)
    }
}

/// Waits for a future from a thread of the runtime, whichever kind it is.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(future))
}

fn rejected(rejection: Rejection) -> ToolError {
    match rejection {
        Rejection::Off { hint } => not_here("is off").with_hint(hint),
        Rejection::ChatNotAllowed { hint } => {
            let message = "The bot does not write to this chat.";
            ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)
        }
        Rejection::Invalid(message) => invalid(message),
    }
}

fn not_here(why: &str) -> ToolError {
    ToolError::new(ErrorCode::ToolNotAllowed, format!("The channel {why}."))
}

pub(crate) fn not_stored(error: StoreError) -> ToolError {
    tracing::error!(%error, "could not store what a tool sends");
    let message = "It could not be stored, so it is not sent.";
    ToolError::new(ErrorCode::IoError, message).with_hint("Ask the operator to look at the supervisor's log.")
}
