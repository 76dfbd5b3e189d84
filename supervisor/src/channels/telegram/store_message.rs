//! Stores a message that is run, with its files, and one that its sender has changed.

use protocol::EventId;
use rusqlite::Transaction;

use super::classify::ClassifiedUpdate;
use crate::store::attachments::{self, Origin};
use crate::store::inbox::{IncomingMessage, enqueue, store_skipped};
use crate::store::{StoreError, edits};
use crate::tool_files::ToolFiles;

/// Stores a message as a task, which waits for the message's files; a part of an album that has not begun
/// belongs to the task of the part before.
pub(super) fn store_message(
    tx: &Transaction<'_>,
    update: &ClassifiedUpdate,
    incoming: &IncomingMessage,
    inbox: Option<&ToolFiles>,
    run: &EventId,
) -> Result<(), StoreError> {
    let Some(inbox) = inbox.filter(|_| !update.files.is_empty()) else {
        return enqueue(tx, incoming, run).map(|_| ());
    };
    let (chat, album) = (&update.chat, update.album.as_deref());
    let begun = album.map(|album| attachments::open_album(tx, chat, album)).transpose()?.flatten();
    let task = match begun {
        Some(task) => {
            let reason = "a part of the album before it";
            store_skipped(tx, incoming, reason, run)?.map(|_| task)
        }
        None => enqueue(tx, incoming, run)?,
    };
    let Some(task) = task else { return Ok(()) };
    let directory = inbox.inbox_of(&chat.session());
    let (message_id, said) = (update.message_id.as_ref(), incoming.text.as_str());
    let origin = Origin { message_id, said, album, directory: &directory };
    attachments::add(tx, &task, &origin, &update.files)
}

/// A message that its sender has changed: its task gets the new text if it has not begun, else the text is a
/// new message.
pub(super) fn store_edited(
    tx: &Transaction<'_>,
    update: &ClassifiedUpdate,
    incoming: IncomingMessage,
    run: &EventId,
) -> Result<(), StoreError> {
    let Some(message_id) = &update.message_id else { return Ok(()) };
    match edits::task_of(tx, &update.chat, message_id)? {
        None => store_skipped(tx, &incoming, "an edit of a message that is not a task", run).map(|_| ()),
        Some(edits::Edited { has_begun: true, .. }) => {
            let text = format!("[A correction of an earlier message:]\n\n{}", incoming.text);
            enqueue(tx, &IncomingMessage { text, ..incoming }, run).map(|_| ())
        }
        Some(edits::Edited { task, .. }) => {
            let reason = "an edit, which replaces the text of its message";
            if store_skipped(tx, &incoming, reason, run)?.is_none() {
                return Ok(());
            }
            if !attachments::replace_said(tx, &task, message_id, &incoming.text)? {
                edits::replace_text(tx, &task, &incoming.text)?;
            }
            edits::record(tx, &task, &incoming.text)
        }
    }
}
