//! Stores a batch of updates with the offset that confirms it, in one transaction.

use std::sync::Arc;

use process::quotas::Limits;
use protocol::{EventId, TaskId, now_ms};
use rusqlite::Transaction;
use tokio::sync::Notify;

use super::NAME;
use super::classify::{ClassifiedUpdate, UpdateAction};
use super::store_message::{store_edited, store_message};
use super::stranger;
use crate::channel::{Chat, Content, Delivery};
use crate::commands::models::Models;
use crate::commands::{self, Context};
use crate::store::inbox::{IncomingMessage, store_skipped};
use crate::store::{StoreError, backlog, chats, kv, outbox, pairing};
use crate::tool_files::ToolFiles;

/// The key of the next offset to ask for: updates before it are stored.
pub(super) const OFFSET: &str = "telegram.offset";

/// How often a group gets a message about who may use the bot, at most.
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
    /// Whether these updates are the last of those: their chats get a message about what was skipped.
    pub(super) ends_backlog: bool,
    /// At most this many of those are run in each chat.
    pub(super) pending_max: u32,
    /// Notified when a chat asks for files.
    pub(super) file_requests: Arc<Notify>,
    /// What a chat can choose from.
    pub(super) models: Models,
    /// What chats and users may use in a day.
    pub(super) limits: Limits,
    /// Who is asked about strangers.
    pub(super) owner: Option<i64>,
    /// Where files go; none if they cannot be stored.
    pub(super) inbox: Option<ToolFiles>,
    /// This run's `process.started`.
    pub(super) run: EventId,
}

impl Batch {
    /// Stores everything; returns where a backlog began.
    pub(super) fn store(&self, tx: &Transaction<'_>) -> Result<Option<i64>, StoreError> {
        let begins = |backlog: Backlog| backlog.since_seq.map_or_else(|| backlog::begin(tx, &NAME), Ok);
        let since_seq = self.backlog.map(begins).transpose()?;
        self.updates.iter().try_for_each(|update| self.store_update(tx, update))?;
        if let Some(since) = since_seq {
            backlog::keep_newest(tx, &NAME, since, self.pending_max, &self.run)?;
            match self.ends_backlog {
                true => backlog::end(tx, &NAME, since)?,
                false => backlog::hold(tx, &NAME, since)?,
            }
        }
        if self.ends_backlog {
            tell_skipped(tx, &self.run)?;
        }
        if let Some(offset) = self.next_offset {
            kv::set(tx, OFFSET, &offset.to_string())?;
        }
        Ok(since_seq)
    }

    fn store_update(&self, tx: &Transaction<'_>, update: &ClassifiedUpdate) -> Result<(), StoreError> {
        let run = &self.run;
        let incoming = |text: &str| IncomingMessage {
            chat: update.chat.clone(),
            update_id: Some(update.update_id.clone()),
            message_id: update.message_id.clone(),
            text: text.to_owned(),
            origin: update.origin.clone(),
        };
        let (text, reason) = match &update.action {
            UpdateAction::Run(text) => {
                return store_message(tx, update, &incoming(text), self.inbox.as_ref(), run);
            }
            UpdateAction::Edited(text) => return store_edited(tx, update, incoming(text), run),
            UpdateAction::Late(text) => (text.as_str(), "the message waited longer than the pending window"),
            UpdateAction::Command(_) => ("", "a command, carried out on receipt"),
            UpdateAction::Moved { .. } => ("", "the group became a supergroup"),
            UpdateAction::Skip(reason) | UpdateAction::Answer { reason, .. } => ("", *reason),
            UpdateAction::UnknownChat { .. } => ("", "the chat may not use the bot"),
            UpdateAction::NotObeyed(_) => ("", "its sender is not obeyed in this group"),
        };
        // One that was stored before was carried out and answered then.
        let Some(task) = store_skipped(tx, &incoming(text), reason, run)? else { return Ok(()) };
        let Some(reply) = self.reply(tx, update, &task)? else { return Ok(()) };
        let contents = vec![Content::Text(reply)];
        outbox::queue(tx, Some(&task), &update.chat, contents, Delivery::Push, Some(run)).map(|_| ())
    }

    /// Carries out an update that is not run, and returns the message to its chat, if there is one.
    fn reply(
        &self,
        tx: &Transaction<'_>,
        update: &ClassifiedUpdate,
        task: &TaskId,
    ) -> Result<Option<String>, StoreError> {
        let (chat, run) = (&update.chat, &self.run);
        Ok(match &update.action {
            UpdateAction::Command(command) => {
                let origin = update.origin.as_ref();
                let (models, file_requests) = (&self.models, &self.file_requests);
                let limits = &self.limits;
                let context = Context { chat, task, origin, models, limits, file_requests, run };
                commands::carry_out(tx, command, &context)?
            }
            UpdateAction::Answer { reply, .. } => Some((*reply).to_owned()),
            UpdateAction::UnknownChat { title } => refusal(tx, chat, title, self.owner, run)?,
            UpdateAction::NotObeyed(reply) => may_tell_again(tx, chat)?.then(|| (*reply).to_owned()),
            UpdateAction::Moved { from, to } => {
                chats::move_to(tx, &Chat::new(NAME, from), &to.to_string(), Some(run))?;
                None
            }
            UpdateAction::Late(text) if !text.trim().is_empty() => {
                backlog::count_skipped(tx, chat)?;
                None
            }
            UpdateAction::Run(_)
            | UpdateAction::Edited(_)
            | UpdateAction::Late(_)
            | UpdateAction::Skip(_) => None,
        })
    }
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

/// The message to an unknown chat, if it got none a short time ago.
fn refusal(
    tx: &Transaction<'_>,
    chat: &Chat,
    title: &str,
    owner: Option<i64>,
    run: &EventId,
) -> Result<Option<String>, StoreError> {
    // What can be allowed is the whole chat.
    let chat = &whole(chat);
    let Some(code) = pairing::give_code(tx, chat, title)? else { return Ok(None) };
    tracing::warn!(chat_id = chat.id, title, code, "a chat that is not allowed wrote to the bot");
    if let Some(owner) = owner {
        let question = vec![stranger::question(chat, title, &code)];
        outbox::queue(tx, None, &Chat::new(NAME, owner), question, Delivery::Push, Some(run))?;
    }
    Ok(Some(format!(
        "This bot does not work for this chat yet. Its operator can allow it within an hour: \
         supervisor pair {code}\n\nThe ID of this chat is {}.",
        chat.id
    )))
}

/// The chat that a topic is a part of.
fn whole(chat: &Chat) -> Chat {
    Chat::new(NAME, chat.id.split(':').next().unwrap_or_default())
}

/// Whether a group got no message within the hour about a member who may not use the bot.
fn may_tell_again(tx: &Transaction<'_>, chat: &Chat) -> Result<bool, StoreError> {
    let key = format!("telegram.not_obeyed.{}", whole(chat).id);
    let last: i64 = kv::get(tx, &key)?.and_then(|at| at.parse().ok()).unwrap_or(0);
    let now = now_ms();
    let may = !(0..REFUSAL_PAUSE_MS).contains(&(now - last));
    if may {
        kv::set(tx, &key, &now.to_string())?;
    }
    Ok(may)
}
