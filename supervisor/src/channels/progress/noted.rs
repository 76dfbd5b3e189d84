//! What is noted of progress messages, so that none stays behind.

use std::time::Duration;

use channel::sign::{Lost, Sign};
use channel::{ChannelName, Chat};
use protocol::{MessageId, TaskId};
use settings::choices::Words as _;
use store::{Store, StoreError, kv, message_numbers};
use texts::Language;

/// What is noted of a message whose number is not known begins so; the highest number before it follows.
pub(super) const LOST: &str = "?";
/// The pause after the database failed.
pub(super) const NOT_NOTED: Duration = Duration::from_secs(1);

/// Notes a new message before it is shown, and adds to a lost one what it is not. Returns the highest number
/// that is known before a new one.
pub(super) async fn noted(
    store: &Store,
    (chat, language): (Chat, Language),
    task: &TaskId,
    sign: Sign,
) -> (Sign, Result<Option<MessageId>, StoreError>) {
    match sign {
        Sign::Progress(_) => {
            let key = format!("{}{task}", prefix(&chat.channel));
            let note = store.write(move |tx| {
                let after = message_numbers::highest(tx, &chat)?.unwrap_or_else(|| 0.into());
                kv::set(tx, &key, &format!("{LOST}{after} {} {}", chat.id, language.word()))?;
                Ok(Some(after))
            });
            let after = note.await;
            if let Err(error) = &after {
                tracing::warn!(%error, "could not note a progress message; it is not shown");
            }
            (sign, after)
        }
        Sign::Find(lost) => match store.write(move |tx| message_numbers::sent(tx, &chat)).await {
            Ok(others) => (Sign::Find(Lost { others, ..lost }), Ok(None)),
            Err(error) => (Sign::Find(lost), Err(error)),
        },
        other => (other, Ok(None)),
    }
}

/// How the keys of a channel's notes begin; the task follows.
pub(super) fn prefix(channel: &ChannelName) -> String {
    format!("progress.{channel}.")
}
