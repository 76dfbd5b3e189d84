//! What every channel's updates go through: who may ask, commands, presses, pairing, and the messages that
//! waited at start.
//!
//! A channel translates between its service and our types; what follows from an update is decided here, in
//! the transaction that stores it, so that an update that comes twice has one effect. Nothing here knows
//! which channels there are.

mod admission;
mod answers;
mod batch;
mod behind;
mod group_context;
pub(crate) mod press;
#[cfg(test)]
mod telegram_updates;
mod typed;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use channel::update::{Kind, Update};
use channel::update_sink::{NotStored, ServiceState, UpdateSink};
use channel::{BacklogLimits, BoxFuture, Channel, Chat, Content, Outgoing};
use futures_util::future::join_all;
use protocol::{EventId, PersonId, TaskId, now_ms};
use store::{Store, StoreError, chats, kv, languages, pairing, received};
use texts::Text;
use tokio::sync::Notify;

use crate::approvals::client::Approvals;
use crate::cancel_signal::CancelSignal;
use crate::commands::models::Models;
use crate::current_settings::CurrentSettings;
use crate::health::{Board, PartName, Reading};
use crate::overheard::Overheard;
use crate::tool_files::ToolFiles;
use admission::Verdict;
pub(crate) use batch::position_key;
use batch::{Batch, Behind, Stored};

/// Where received messages go.
#[derive(Debug, Clone)]
pub(crate) struct Inbound {
    pub store: Store,
    /// This run's `process.started`.
    pub run: EventId,
    /// Sent when a message asks to cancel what runs, or may be a part of it.
    pub cancel_signal: CancelSignal,
    /// Notified when a chat asks for files.
    pub file_requests: Arc<Notify>,
    /// What a chat can choose from.
    pub models: Models,
    /// What chats and users may use in a day.
    pub current: CurrentSettings,
    /// Where the channel reports how it is.
    pub board: Board,
    /// Where decisions go; none where nothing is received.
    pub approvals: Option<Approvals>,
    /// Where files go that messages bring; none where nothing is received.
    pub files: Option<ToolFiles>,
    /// Sent when such files wait.
    pub files_came: Arc<Notify>,
    /// What groups wrote that have allowed it.
    pub overheard: Overheard,
}

/// The messages that waited at start; none once they are through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backlog {
    /// Older ones, in seconds since the epoch, are stored but not run.
    not_before: i64,
    /// At most this many are run in each chat.
    most: u32,
    /// The newest task before them, once the first of them are stored.
    since_seq: Option<i64>,
}

/// An update, and what to do with it if it is a message.
type Judged = (Update, Option<Verdict>);

/// Who administers each group; none where that is not known.
type Administrators = HashMap<String, Option<HashSet<PersonId>>>;

/// Receives the updates of one channel.
pub(crate) struct Reception {
    channel: Arc<dyn Channel>,
    inbound: Inbound,
    backlog: Option<Backlog>,
    /// The chats that know that nothing can be stored; each reads it once in an outage.
    told: HashSet<Chat>,
}

impl Reception {
    /// For a channel whose messages do not wait while the supervisor is off.
    pub(crate) fn new(channel: Arc<dyn Channel>, inbound: Inbound) -> Self {
        Self { channel, inbound, backlog: None, told: HashSet::new() }
    }

    /// For a run: a channel whose messages wait begins with those.
    pub(crate) async fn after_a_pause(channel: Arc<dyn Channel>, inbound: Inbound) -> Self {
        let backlog = channel.backlog().map(|BacklogLimits { window, most }| {
            let window = i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
            Backlog { not_before: now_ms() / 1000 - window, most, since_seq: None }
        });
        let reception = Self { backlog, ..Self::new(channel, inbound) };
        if let Err(error) = reception.restore_access().await {
            tracing::error!(%error, "could not read which chats were paired and which groups moved");
        }
        reception
    }

    /// Stores updates with the position behind them, and does what they ask for. Returns the rows of new
    /// messages. `is_last` says that no more of those come that waited at start.
    pub(crate) async fn receive(
        &mut self,
        updates: Vec<Update>,
        position: Option<String>,
        is_last: bool,
    ) -> Result<Vec<TaskId>, StoreError> {
        self.receive_from(updates, position.map(Behind::Position), is_last).await
    }

    /// Receives what the leader stored for this node. Returns whether there was something.
    pub(crate) async fn receive_waiting(&mut self) -> Result<bool, StoreError> {
        let name = self.channel.name();
        let waiting = self.inbound.store.write(move |tx| received::waiting(tx, &name)).await?;
        let is_any = !waiting.updates.is_empty();
        let read = is_any.then_some(Behind::Received(waiting.rows));
        self.receive_from(waiting.updates, read, waiting.is_all).await?;
        Ok(is_any)
    }

    async fn receive_from(
        &mut self,
        updates: Vec<Update>,
        position: Option<Behind>,
        is_last: bool,
    ) -> Result<Vec<TaskId>, StoreError> {
        let ends_backlog = is_last && self.backlog.is_some();
        if updates.is_empty() && position.is_none() && !ends_backlog {
            return Ok(Vec::new());
        }
        let (updates, administrators) = self.judged(updates).await;
        let waiting = to_be_run(&updates);
        let batch = Batch {
            updates,
            position,
            backlog: self.backlog,
            ends_backlog,
            administrators,
            channel: Arc::clone(&self.channel),
            inbound: self.inbound.clone(),
        };
        let stored = match self.inbound.store.write(move |tx| batch.store(tx)).await {
            Ok(stored) => stored,
            Err(error) => {
                self.tell_outage(waiting).await;
                return Err(error);
            }
        };
        self.stores_again();
        self.backlog = self.backlog.filter(|_| !ends_backlog);
        if let Some(backlog) = &mut self.backlog {
            backlog.since_seq = stored.since_seq;
        }
        Ok(self.apply(stored))
    }

    /// Tells the chats whose messages would be run that nothing can be stored.
    pub(crate) async fn cannot_store(&mut self, updates: Vec<Update>) {
        let (judged, _) = self.judged(updates).await;
        self.tell_outage(to_be_run(&judged)).await;
    }

    /// The outage is over.
    pub(crate) fn stores_again(&mut self) {
        self.told.clear();
    }

    /// Each update with the verdict on it if it is a message, and who administers the groups of all.
    async fn judged(&self, updates: Vec<Update>) -> (Vec<Judged>, Administrators) {
        let administrators = self.administrators_for(&updates).await;
        let not_before = self.backlog.map(|backlog| backlog.not_before);
        let judged = |update: Update| {
            let Kind::Message(incoming) = &update.kind else { return (update, None) };
            let administrators = administrators.get(&update.chat.whole().id).and_then(Option::as_ref);
            let rules = admission::Rules { access: self.channel.access(), administrators, not_before };
            let verdict = admission::judge(&update.chat, incoming, &rules);
            (update, Some(verdict))
        };
        (updates.into_iter().map(judged).collect(), administrators)
    }

    /// Asks who administers the groups whose messages and buttons depend on it.
    async fn administrators_for(&self, updates: &[Update]) -> Administrators {
        let access = self.channel.access();
        let depends = |update: &&Update| match &update.kind {
            Kind::Message(incoming) => admission::needs_administrators(&update.chat, incoming, access),
            Kind::Press(press) => press::needs_administrators(press, &update.chat, access),
            Kind::Moved { .. } | Kind::Other(_) => false,
        };
        let groups: HashSet<String> =
            updates.iter().filter(depends).map(|update| update.chat.whole().id).collect();
        let ask = async |group: String| {
            let people = self.channel.administrators(&group).await;
            (group, people)
        };
        join_all(groups.into_iter().map(ask)).await.into_iter().collect()
    }

    /// Passes on what a stored batch changes elsewhere, and gives the answers to its presses.
    fn apply(&self, stored: Stored) -> Vec<TaskId> {
        let access = self.channel.access();
        stored.moved.iter().for_each(|(from, to)| access.moved(from, to));
        if stored.brings_files {
            self.inbound.files_came.notify_one();
        }
        // The sender holds back messages for strangers, so the permission comes before the welcome leaves.
        let effects = || stored.presses.iter().map(|(.., effect)| effect);
        for paired in effects().filter_map(|effect| effect.paired.as_ref()) {
            access.set_paired(&paired.id, true);
        }
        if stored.may_add || stored.cancels || effects().any(|effect| effect.stops) {
            self.inbound.cancel_signal.send_replace(());
        }
        for decision in stored.decisions {
            let (approvals, store) = (self.inbound.approvals.clone(), self.inbound.store.clone());
            // What became of it replaces the question.
            tokio::spawn(async move {
                if let Some(approvals) = approvals {
                    approvals.pass_on(&store, decision).await;
                }
            });
        }
        for (press, place, effect) in stored.presses {
            // No answer to a press waits for another one.
            tokio::spawn(effect.answer(Arc::clone(&self.channel), self.inbound.clone(), press, place));
        }
        stored.tasks
    }

    /// Tells chats that their messages cannot be stored, past the outbox, which is in the same database. A
    /// failure is not retried.
    async fn tell_outage(&mut self, chats: Vec<Chat>) {
        for chat in chats.into_iter().filter(|chat| self.told.insert(chat.clone())).collect::<Vec<_>>() {
            let of_chat = chat.clone();
            let language = self.inbound.store.write(move |tx| languages::of(tx, &of_chat)).await;
            let content = &Content::Text(Text::Outage.to(language.unwrap_or_default()));
            let outcome =
                self.channel.send(Outgoing { chat_id: &chat.id, content, answers: None, attempt: 1 }).await;
            tracing::debug!(?outcome, chat_id = chat.id, "told a chat about the outage");
        }
    }

    /// Allows the chats that were paired, and the groups that moved in earlier runs.
    async fn restore_access(&self) -> Result<(), StoreError> {
        let name = self.channel.name();
        let read = self.inbound.store.write(move |tx| {
            let paired = pairing::paired(tx)?.into_iter().filter(|known| known.chat.channel == name);
            Ok((chats::moved(tx, &name)?, paired.collect::<Vec<_>>()))
        });
        let (moved, paired) = read.await?;
        let access = self.channel.access();
        moved.iter().for_each(|(from, to)| access.moved(from, to));
        paired.iter().for_each(|known| access.set_paired(&known.chat.id, true));
        Ok(())
    }
}

impl UpdateSink for Reception {
    fn is_in_backlog(&self) -> bool {
        self.backlog.is_some()
    }

    fn position(&self) -> BoxFuture<'_, Result<Option<String>, NotStored>> {
        let key = position_key(self.channel.as_ref());
        Box::pin(async { self.inbound.store.write(move |tx| kv::get(tx, &key)).await.map_err(not_stored) })
    }

    fn store(
        &mut self,
        updates: Vec<Update>,
        position: Option<String>,
        is_last: bool,
    ) -> BoxFuture<'_, Result<(), NotStored>> {
        Box::pin(async move { self.receive(updates, position, is_last).await.map(drop).map_err(not_stored) })
    }

    fn report(&self, state: ServiceState) {
        let reading = match state {
            ServiceState::Ok { detail } => Reading::ok(detail),
            ServiceState::Degraded { detail, remedy } => Reading::degraded(detail, remedy),
            ServiceState::Failed { detail, remedy } => Reading::failed(detail, remedy),
        };
        self.inbound.board.set(PartName::Channel(self.channel.name()), reading);
    }
}

/// The chats of the messages that are run.
fn to_be_run(updates: &[Judged]) -> Vec<Chat> {
    let run = updates.iter().filter(|(_, verdict)| matches!(verdict, Some(Verdict::Run)));
    run.map(|(update, _)| update.chat.clone()).collect()
}

pub(crate) fn not_stored(error: StoreError) -> NotStored {
    NotStored(error.to_string())
}
