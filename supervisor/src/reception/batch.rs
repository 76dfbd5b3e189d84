//! Stores what a channel delivered together with the position behind it, in one transaction.

use std::sync::Arc;
use std::time::Duration;

use channel::update::{Incoming, Kind, Press, Update};
use channel::{Channel, Chat, Content};
use protocol::{MessageId, TaskId, now_ms};
use store::approvals::{self, Decision};
use store::attachments::{self, Origin};
use store::inbox::{self, IncomingMessage, enqueue, store_part, store_skipped};
use store::sql::Connection;
use store::{StoreError, additions, backlog, chats, edits, kv, languages, outbox, parts, received, said};
use texts::Text;

use super::admission::{Rules, Verdict};
use super::answers::{self, Written};
use super::typed::typed;
use super::{Administrators, Backlog, Inbound, Judged, press};
use crate::commands::{self, Command, Context};
use crate::strangers;

/// How often a group gets a message about who may use the bot, at most.
const REFUSAL_PAUSE_MS: i64 = 60 * 60 * 1000;

/// After a message that probably has a continuation, so many times the quiet time is waited.
const LONGER: u32 = 3;

/// The updates of one response, each message with what to do with it.
pub(super) struct Batch {
    pub(super) updates: Vec<Judged>,
    /// Where the channel continues behind them; none if there are none.
    pub(super) position: Option<Behind>,
    /// Set while the messages that waited at start are received.
    pub(super) backlog: Option<Backlog>,
    /// Whether these updates are the last of those: their chats get a message about what was skipped.
    pub(super) ends_backlog: bool,
    pub(super) administrators: Administrators,
    pub(super) channel: Arc<dyn Channel>,
    pub(super) inbound: Inbound,
}

/// Where to continue behind a batch.
pub(super) enum Behind {
    /// Where the channel does.
    Position(String),
    /// Behind these rows of what the leader received for this node.
    Received(Vec<i64>),
}

/// What a batch changes beyond its rows, once it is stored.
#[derive(Default)]
pub(super) struct Stored {
    /// Where the backlog began.
    pub(super) since_seq: Option<i64>,
    /// The rows of new messages.
    pub(super) tasks: Vec<TaskId>,
    pub(super) presses: Vec<(Press, (Chat, Option<MessageId>), press::Effect)>,
    /// What was decided by words, and is to be passed on.
    pub(super) decisions: Vec<Decision>,
    /// The groups that have another ID now: the old one, and the new one.
    pub(super) moved: Vec<(String, String)>,
    pub(super) cancels: bool,
    pub(super) brings_files: bool,
    /// Whether a message may belong to a task that runs.
    pub(super) may_add: bool,
}

impl Batch {
    pub(super) fn store(&self, tx: &Connection) -> Result<Stored, StoreError> {
        let (name, run) = (self.channel.name(), &self.inbound.run);
        let mut stored = Stored::default();
        let begins = |backlog: Backlog| backlog.since_seq.map_or_else(|| backlog::begin(tx, &name), Ok);
        stored.since_seq = self.backlog.map(begins).transpose()?;
        for (update, verdict) in &self.updates {
            self.store_update(tx, update, verdict.as_ref(), &mut stored)?;
        }
        if let (Some(since), Some(backlog)) = (stored.since_seq, self.backlog) {
            backlog::keep_newest(tx, &name, since, backlog.most, run)?;
            match self.ends_backlog {
                true => backlog::end(tx, &name, since)?,
                false => backlog::hold(tx, &name, since)?,
            }
        }
        if self.ends_backlog {
            for (chat, count) in backlog::take_skipped(tx, &name)? {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                self.say(tx, None, &chat, Text::SkippedWhileOff { count })?;
            }
        }
        match &self.position {
            Some(Behind::Position(position)) => {
                kv::set(tx, &position_key(self.channel.as_ref()), position)?;
            }
            Some(Behind::Received(rows)) => received::remove(tx, rows)?,
            None => {}
        }
        Ok(stored)
    }

    fn store_update(
        &self,
        tx: &Connection,
        update: &Update,
        verdict: Option<&Verdict>,
        stored: &mut Stored,
    ) -> Result<(), StoreError> {
        self.note_language(tx, update)?;
        match (&update.kind, verdict) {
            (Kind::Message(incoming), Some(verdict)) => {
                self.store_message(tx, update, incoming, verdict, stored)
            }
            (Kind::Press(press), _) => {
                self.skip(tx, update, None, "a button, answered on receipt")?;
                let place = (&update.chat, update.message_id.as_ref());
                let effect = press::carry_out(tx, press, place, &self.rules(&update.chat), &self.inbound)?;
                let place = (update.chat.clone(), update.message_id.clone());
                stored.presses.push((press.clone(), place, effect));
                Ok(())
            }
            (Kind::Moved { from, to }, _) if self.channel.access().allows(from) => {
                if self.skip(tx, update, None, "the group has another ID now")?.is_some() {
                    let from = Chat::new(self.channel.name(), from);
                    chats::move_to(tx, &from, to, Some(&self.inbound.run))?;
                }
                stored.moved.push((from.clone(), to.clone()));
                Ok(())
            }
            (Kind::Moved { .. } | Kind::Message(_), _) => {
                self.skip(tx, update, None, "the chat may not use the bot").map(drop)
            }
            (Kind::Other(reason), _) => self.skip(tx, update, None, reason).map(drop),
        }
    }

    /// In a chat with one person, the bot speaks the language of that person's client.
    fn note_language(&self, tx: &Connection, update: &Update) -> Result<(), StoreError> {
        let tag = match &update.kind {
            Kind::Message(incoming) => incoming.client_language.as_ref(),
            Kind::Press(press) => press.client_language.as_ref(),
            Kind::Moved { .. } | Kind::Other(_) => None,
        };
        match tag.filter(|_| !self.channel.access().is_group(&update.chat.id)) {
            Some(tag) => languages::note_client(tx, &update.chat, tag),
            None => Ok(()),
        }
    }

    fn store_message(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
        verdict: &Verdict,
        stored: &mut Stored,
    ) -> Result<(), StoreError> {
        if incoming.command.is_some() && !incoming.is_edit {
            parts::end(tx, &update.chat, self.user(incoming).as_deref())?;
        }
        if matches!(verdict, Verdict::Run | Verdict::Late)
            && let Some(written) = answers::written(tx, &update.chat, incoming, self.channel.access())?
        {
            return self.store_answer(tx, update, written, stored);
        }
        let reason = match verdict {
            Verdict::Run => {
                if let Some(typed) = typed(tx, &update.chat, incoming, self.channel.access())? {
                    return self.store_answer(tx, update, typed, stored);
                }
                stored.brings_files |= !incoming.files.is_empty();
                stored.may_add = true;
                stored.tasks.extend(self.run_with_context(tx, update, incoming)?);
                return Ok(());
            }
            Verdict::Command(Command::Queue { text }) => {
                return self.store_queued(tx, update, incoming, text, stored);
            }
            Verdict::Edited => return self.store_edited(tx, update, incoming, stored),
            Verdict::Overheard if self.store_behind(tx, update, incoming, stored)? => return Ok(()),
            Verdict::Overheard => self.overhear(tx, update, incoming)?,
            Verdict::Late => "the message waited longer than the pending window",
            Verdict::Command(_) => "a command, carried out on receipt",
            Verdict::Skip(reason) | Verdict::Answer { reason, .. } => reason,
            Verdict::UnknownChat => "the chat may not use the bot",
            Verdict::NotObeyed(_) => "its sender is not obeyed in this group",
        };
        // One that was stored before was carried out and answered then.
        let Some(task) = self.skip(tx, update, Some((incoming, verdict)), reason)? else { return Ok(()) };
        stored.cancels |=
            matches!(verdict, Verdict::Command(Command::Cancel { .. } | Command::Unpair { .. }));
        if let Some(reply) = self.reply(tx, (&update.chat, &task), incoming, verdict)? {
            self.tell(tx, Some(&task), &update.chat, reply)?;
        }
        stored.tasks.push(task);
        Ok(())
    }

    /// What its sender wants as a task of its own.
    fn store_queued(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
        text: &str,
        stored: &mut Stored,
    ) -> Result<(), StoreError> {
        let task =
            self.run_with_context(tx, update, &Incoming { text: text.to_owned(), ..incoming.clone() })?;
        task.iter().try_for_each(|task| additions::stand_alone(tx, task))?;
        stored.brings_files |= !incoming.files.is_empty();
        stored.tasks.extend(task);
        Ok(())
    }

    /// A yes or a no about a call, or the answer to a question: it is no task.
    fn store_answer(
        &self,
        tx: &Connection,
        update: &Update,
        written: Written,
        stored: &mut Stored,
    ) -> Result<(), StoreError> {
        let Some(task) = self.skip(tx, update, None, "the answer to a question")? else { return Ok(()) };
        let told = match written {
            Written::Told(text) => Some(text),
            Written::Decides(decision) if approvals::keep(tx, &decision)? => {
                stored.decisions.push(decision);
                None
            }
            Written::Decides(_) => Some(Text::DecidedBefore),
        };
        if let Some(text) = told {
            self.say(tx, Some(&task), &update.chat, text)?;
        }
        stored.tasks.push(task);
        Ok(())
    }

    /// Carries out a message that is not run, and returns the message to its chat, if there is one.
    fn reply(
        &self,
        tx: &Connection,
        (chat, task): (&Chat, &TaskId),
        incoming: &Incoming,
        verdict: &Verdict,
    ) -> Result<Option<String>, StoreError> {
        let Inbound { models, file_requests, current, board, run, overheard, .. } = &self.inbound;
        let language = languages::of(tx, chat)?;
        Ok(match verdict {
            Verdict::Command(command) => {
                let context = Context {
                    chat,
                    task,
                    origin: incoming.origin.as_ref(),
                    models,
                    limits: &current.limits(),
                    file_requests,
                    run,
                    delivery: self.channel.delivery(),
                    access: self.channel.access(),
                    board,
                    is_owner: self.is_owner(incoming),
                    administers: self.administers(chat, incoming),
                    overheard,
                    language,
                };
                commands::carry_out(tx, command, &context)?
            }
            Verdict::Answer { reply, .. } => Some(reply.to(language)),
            Verdict::UnknownChat => {
                let owner = self.channel.access().owner();
                strangers::wrote(tx, chat, &title(incoming, chat), owner.as_deref(), run)?
            }
            Verdict::NotObeyed(reply) => may_tell_again(tx, chat)?.then(|| reply.to(language)),
            Verdict::Late => {
                if !incoming.text.trim().is_empty() {
                    backlog::count_skipped(tx, chat)?;
                }
                None
            }
            Verdict::Run | Verdict::Edited | Verdict::Overheard | Verdict::Skip(_) => None,
        })
    }

    /// Whether the sender of a message administers its group, or is the owner of the bot.
    fn administers(&self, chat: &Chat, incoming: &Incoming) -> bool {
        let people = self.rules(chat).administrators;
        let is_one = people.zip(incoming.sender()).is_some_and(|(people, one)| people.contains(&one.id));
        is_one || self.is_owner(incoming)
    }

    /// Stores a message as a task, which waits for the message's files. What comes shortly after it from the
    /// same sender, and further parts of an album, belong to that task until it begins.
    pub(super) fn run(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
    ) -> Result<Option<TaskId>, StoreError> {
        let (chat, album) = (&update.chat, incoming.album.as_deref());
        let quiet = self.quiet_after(incoming);
        let Some(task) = self.task_of(tx, &row(update, Some(incoming)), incoming, quiet)? else {
            return Ok(None);
        };
        if let Some(quiet) = quiet {
            parts::wait(tx, &task, quiet, incoming.sent_at)?;
        }
        if let Some(inbox) = self.inbound.files.as_ref().filter(|_| !incoming.files.is_empty()) {
            let directory = &inbox.inbox_of(&chat.session());
            let origin =
                Origin { message_id: update.message_id.as_ref(), said: &incoming.text, album, directory };
            attachments::add(tx, &task, &origin, &incoming.files)?;
        }
        Ok(Some(task))
    }

    /// The task that a message belongs to, which may be a new one; none for an update that is already stored.
    fn task_of(
        &self,
        tx: &Connection,
        row: &IncomingMessage,
        incoming: &Incoming,
        quiet: Option<Duration>,
    ) -> Result<Option<TaskId>, StoreError> {
        let (chat, run) = (&row.chat, &self.inbound.run);
        let is_cut = incoming.more_follows && incoming.files.is_empty() && !incoming.is_forwarded();
        let of_album = incoming.album.as_deref().map(|album| attachments::open_album(tx, chat, album));
        let begun = match of_album.transpose()?.flatten() {
            Some(task) => Some((task, "a part of the album before it")),
            None if quiet.is_some() => {
                let open = parts::open_task(tx, chat, self.user(incoming).as_deref(), incoming.sent_at)?;
                open.map(|task| (task, "a part of the message before it"))
            }
            None => None,
        };
        let Some((task, reason)) = begun else {
            let Some(task) = enqueue(tx, row, run)? else { return Ok(None) };
            if quiet.is_some() && is_cut {
                parts::add(tx, &task, row, is_cut)?;
            }
            return Ok(Some(task));
        };
        if !store_part(tx, row, &task, reason, run)? {
            return Ok(None);
        }
        parts::begin(tx, &task)?;
        parts::add(tx, &task, row, is_cut)?;
        said::write(tx, &task)?;
        Ok(Some(task))
    }

    /// How long the task of a message waits for further ones; none if each message is a task.
    pub(super) fn quiet_after(&self, incoming: &Incoming) -> Option<Duration> {
        let quiet = self.channel.quiet_time();
        let times = if incoming.more_follows { LONGER } else { 1 };
        (!quiet.is_zero() && incoming.command.is_none()).then_some(quiet * times)
    }

    /// Whose messages belong together.
    pub(super) fn user(&self, incoming: &Incoming) -> Option<String> {
        inbox::user_id(&self.channel.name(), incoming.origin.as_ref()?)
    }

    /// A message that its sender has changed: its task gets the new text if it has not begun, else the text
    /// is a new message.
    pub(super) fn store_edited(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
        stored: &mut Stored,
    ) -> Result<(), StoreError> {
        stored.may_add = true;
        let Some(message_id) = &update.message_id else { return Ok(()) };
        let (row, run) = (row(update, Some(incoming)), &self.inbound.run);
        match edits::task_of(tx, &update.chat, message_id)? {
            None => store_skipped(tx, &row, "an edit of a message that is not a task", run).map(drop),
            Some(edited) if edited.says(&incoming.text) => {
                let row = IncomingMessage { text: String::new(), ..row };
                store_skipped(tx, &row, "an edit that changes nothing", run).map(drop)
            }
            Some(edits::Edited { has_begun: true, .. }) => {
                let text = edits::correction(&incoming.text);
                enqueue(tx, &IncomingMessage { text, ..row }, run).map(drop)
            }
            Some(edits::Edited { task, .. }) => {
                let reason = "an edit, which replaces the text of its message";
                if store_skipped(tx, &row, reason, run)?.is_none() {
                    return Ok(());
                }
                if !attachments::replace_said(tx, &task, message_id, &incoming.text)? {
                    edits::replace_text(tx, &task, &incoming.text)?;
                }
                edits::record(tx, &task, &incoming.text)
            }
        }
    }

    /// Stores a row that is not run. The text is kept only of a message that a person can run again.
    fn skip(
        &self,
        tx: &Connection,
        update: &Update,
        message: Option<(&Incoming, &Verdict)>,
        reason: &str,
    ) -> Result<Option<TaskId>, StoreError> {
        let mut row = row(update, message.map(|(incoming, _)| incoming));
        if !matches!(message, Some((_, Verdict::Late))) {
            row.text.clear();
        }
        store_skipped(tx, &row, reason, &self.inbound.run)
    }

    /// Sends a text of the catalogue.
    fn say(
        &self,
        tx: &Connection,
        task: Option<&TaskId>,
        chat: &Chat,
        text: Text<'_>,
    ) -> Result<(), StoreError> {
        self.tell(tx, task, chat, text.to(languages::of(tx, chat)?))
    }

    fn tell(
        &self,
        tx: &Connection,
        task: Option<&TaskId>,
        chat: &Chat,
        text: String,
    ) -> Result<(), StoreError> {
        let delivery = self.channel.delivery();
        outbox::queue(tx, task, chat, vec![Content::Text(text)], delivery, Some(&self.inbound.run)).map(drop)
    }

    /// Whether the owner of the bot wrote it. All people of a channel that checks them itself are owners.
    fn is_owner(&self, incoming: &Incoming) -> bool {
        let access = self.channel.access();
        let sender = incoming.sender().map(|sender| sender.id.as_str());
        access.rules().is_open || access.owner().as_deref().is_some_and(|owner| Some(owner) == sender)
    }

    fn rules(&self, chat: &Chat) -> Rules<'_> {
        let administrators = self.administrators.get(&chat.whole().id).and_then(Option::as_ref);
        Rules { access: self.channel.access(), administrators, not_before: None }
    }
}

/// The key of the position from which a channel continues: updates before it are stored.
pub(crate) fn position_key(channel: &dyn Channel) -> String {
    format!("{}.offset", channel.name())
}

fn row(update: &Update, incoming: Option<&Incoming>) -> IncomingMessage {
    IncomingMessage {
        chat: update.chat.clone(),
        update_id: update.id.clone(),
        message_id: update.message_id.clone(),
        text: incoming.map(|incoming| incoming.text.clone()).unwrap_or_default(),
        origin: incoming.and_then(|incoming| incoming.origin.clone()),
    }
}

/// What people call a chat: a group's title, or the name of the person.
fn title(incoming: &Incoming, chat: &Chat) -> String {
    let group = incoming.origin.as_ref().and_then(|origin| origin.chat.clone());
    group.or_else(|| incoming.sender().map(ToString::to_string)).unwrap_or_else(|| chat.id.clone())
}

/// Whether a group got no message within the hour about a member who may not use the bot.
fn may_tell_again(tx: &Connection, chat: &Chat) -> Result<bool, StoreError> {
    let key = format!("{}.not_obeyed.{}", chat.channel, chat.whole().id);
    let last: i64 = kv::get(tx, &key)?.and_then(|at| at.parse().ok()).unwrap_or(0);
    let now = now_ms();
    let may = !(0..REFUSAL_PAUSE_MS).contains(&(now - last));
    if may {
        kv::set(tx, &key, &now.to_string())?;
    }
    Ok(may)
}
