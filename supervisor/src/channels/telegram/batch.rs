//! Stores a batch of updates with the offset that confirms it, in one transaction.

use protocol::{EventId, now_ms};
use rusqlite::Transaction;

use super::NAME;
use super::classify::{ClassifiedUpdate, UpdateAction};
use crate::channel::{Chat, Content, Delivery};
use crate::commands;
use crate::store::inbox::{IncomingMessage, enqueue, store_skipped};
use crate::store::{StoreError, backlog, chats, kv, outbox};

/// The key of the next offset to ask for: updates before it are stored.
pub(super) const OFFSET: &str = "telegram.offset";

/// An unknown chat is answered at most this often.
const REFUSAL_PAUSE_MS: i64 = 60 * 60 * 1000;

/// The messages that waited at start; none once they are through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backlog {
    /// Older ones, in seconds since the epoch, are stored but not run.
    pub(super) not_before: i64,
    /// The newest task before them, once the first of them are stored.
    pub(super) since_seq: Option<i64>,
}

/// The updates of one response.
pub(super) struct Batch {
    pub(super) updates: Vec<ClassifiedUpdate>,
    /// The offset that confirms them; none if there are none.
    pub(super) next_offset: Option<i64>,
    /// Set while the messages that waited at start are received.
    pub(super) backlog: Option<Backlog>,
    /// Whether these updates are the last of those: their chats are told what was skipped.
    pub(super) ends_backlog: bool,
    /// At most this many of those are run in each chat.
    pub(super) pending_max: u32,
    /// This run's `process.started`.
    pub(super) run: EventId,
}

impl Batch {
    /// Stores everything; returns where a backlog began.
    pub(super) fn store(&self, tx: &Transaction<'_>) -> Result<Option<i64>, StoreError> {
        let begins = |backlog: Backlog| backlog.since_seq.map_or_else(|| backlog::newest_seq(tx), Ok);
        let since_seq = self.backlog.map(begins).transpose()?;
        self.updates.iter().try_for_each(|update| store_update(tx, update, &self.run))?;
        if let Some(since) = since_seq {
            backlog::keep_newest(tx, &NAME, since, self.pending_max, &self.run)?;
        }
        if self.ends_backlog {
            tell_skipped(tx, &self.run)?;
        }
        if let Some(offset) = self.next_offset {
            kv::set(tx, OFFSET, &offset.to_string())?;
        }
        Ok(since_seq)
    }
}

fn store_update(tx: &Transaction<'_>, update: &ClassifiedUpdate, run: &EventId) -> Result<(), StoreError> {
    let incoming = |text: &str| IncomingMessage {
        chat: update.chat.clone(),
        update_id: Some(update.update_id),
        message_id: update.message_id,
        text: text.to_owned(),
    };
    let (text, reason) = match &update.action {
        UpdateAction::Run(text) => return enqueue(tx, &incoming(text), run).map(|_| ()),
        UpdateAction::Late(text) => (text.as_str(), "the message waited longer than the pending window"),
        UpdateAction::Command(_) => ("", "a command, carried out on receipt"),
        UpdateAction::Moved { .. } => ("", "the group became a supergroup"),
        UpdateAction::Skip(reason) | UpdateAction::Answer { reason, .. } => ("", *reason),
        UpdateAction::UnknownChat => ("", "the chat is not on the allowlist"),
    };
    // One that was stored before was carried out and answered then.
    let Some(task) = store_skipped(tx, &incoming(text), reason, run)? else { return Ok(()) };
    let chat = &update.chat;
    let reply = match &update.action {
        UpdateAction::Command(command) => Some(commands::carry_out(tx, command, chat, run)?),
        UpdateAction::Answer { reply, .. } => Some((*reply).to_owned()),
        UpdateAction::UnknownChat => refusal(tx, chat)?,
        UpdateAction::Moved { from, to } => {
            chats::move_to(tx, &Chat::new(NAME, from), &to.to_string(), Some(run))?;
            None
        }
        UpdateAction::Late(text) if !text.trim().is_empty() => {
            backlog::count_skipped(tx, chat)?;
            None
        }
        UpdateAction::Run(_) | UpdateAction::Late(_) | UpdateAction::Skip(_) => None,
    };
    let Some(reply) = reply else { return Ok(()) };
    outbox::queue(tx, Some(&task), chat, vec![Content::Text(reply)], Delivery::Push, Some(run)).map(|_| ())
}

/// Tells each chat how many of its messages were skipped.
fn tell_skipped(tx: &Transaction<'_>, run: &EventId) -> Result<(), StoreError> {
    for (chat, count) in backlog::take_skipped(tx, &NAME)? {
        let notice = vec![Content::Text(skipped_in_words(count))];
        outbox::queue(tx, None, &chat, notice, Delivery::Push, Some(run))?;
    }
    Ok(())
}

fn skipped_in_words(count: u64) -> String {
    match count {
        1 => "While I was off, 1 message came that I did not run. /retry runs it.".to_owned(),
        many => format!(
            "While I was off, {many} messages came that I did not run. /retry runs the newest of them, and \
             each time you send it again the one before."
        ),
    }
}

/// What to tell an unknown chat, if it was not told a short time ago.
fn refusal(tx: &Transaction<'_>, chat: &Chat) -> Result<Option<String>, StoreError> {
    let key = format!("telegram.refused.{}", chat.id);
    let last: i64 = kv::get(tx, &key)?.and_then(|at| at.parse().ok()).unwrap_or(0);
    let now = now_ms();
    if (0..REFUSAL_PAUSE_MS).contains(&(now - last)) {
        return Ok(None);
    }
    kv::set(tx, &key, &now.to_string())?;
    tracing::warn!(chat_id = chat.id, "a chat that is not on the allowlist wrote to the bot");
    Ok(Some(format!(
        "This bot does not work for this chat. Its operator can allow it: chat ID {0} must be in \
         AUTONOUS_TELEGRAM_ALLOWED_CHATS (AUTONOUS_TELEGRAM_ALLOWED_CHATS={0}).",
        chat.id
    )))
}
