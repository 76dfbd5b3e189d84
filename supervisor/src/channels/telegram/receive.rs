//! Receives updates: fetches, classifies and stores them with the new offset in one transaction, and only
//! then confirms them by asking for the next ones.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use protocol::now_ms;
use serde::Serialize;
use serde_json::value::RawValue;
use teloxide::payloads::GetMe;
use teloxide::requests::Payload;
use teloxide::types::UpdateKind;
use tokio_util::sync::CancellationToken;

use super::administrators::Administrators;
use super::admission::{Admission, Rules, admit, may_press};
use super::api::{Api, CallError, PATIENCE};
use super::batch::{Backlog, Batch, OFFSET};
use super::bot::{LONG_POLL, RetryPolicy, pause, retry_policy};
use super::classify::{ClassifiedUpdate, UpdateAction, classify};
use super::identity::Identity;
use super::menu::Menu;
use super::permissions::Permissions;
use super::press::{self, Answer, Press};
use super::store_outage::StoreOutage;
use super::updates::{self, Received};
use crate::channel::Chat;
use crate::channels::inbound::Inbound;
use crate::commands::Command;
use crate::config::TelegramSettings;
use crate::health::{PartName, Reading};
use crate::store::{StoreError, kv};

const BATCH: u8 = 100;

/// `getUpdates` (<https://core.telegram.org/bots/api#getupdates>), with updates unread and numbers of any
/// size, unlike the client's.
#[derive(Serialize)]
struct GetUpdates {
    offset: i64,
    limit: u8,
    /// How long Telegram may hold the request open, in seconds.
    timeout: u64,
    allowed_updates: [&'static str; 3],
}

impl Payload for GetUpdates {
    type Output = Vec<Box<RawValue>>;

    const NAME: &'static str = "GetUpdates";
}

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// After so many failures in a row, Telegram counts as out of reach.
const UNREACHABLE_AFTER: u32 = 3;

/// What a batch changes beyond its rows, once it is stored.
struct Effects {
    /// The groups that have another ID now: the old one, and the new one.
    moved: Vec<(i64, i64)>,
    cancels: bool,
    brings_files: bool,
}

impl Effects {
    fn of(updates: &[ClassifiedUpdate]) -> Self {
        let moved = updates.iter().filter_map(|update| match update.action {
            UpdateAction::Moved { from, to } => Some((from, to)),
            _ => None,
        });
        let cancels = updates
            .iter()
            .any(|update| matches!(&update.action, UpdateAction::Command(Command::Cancel { .. })));
        let brings_files = updates.iter().any(|update| !update.files.is_empty());
        Self { moved: moved.collect(), cancels, brings_files }
    }
}

pub(super) struct Receiver {
    api: Api,
    inbound: Inbound,
    permissions: Permissions,
    administrators: Administrators,
    menu: Menu,
    pending_max: u32,
    backlog: Option<Backlog>,
    failures: u32,
    /// Who the bot is: without it, which messages are for it is unknown.
    identity: Option<Identity>,
    outage: StoreOutage,
}

impl Receiver {
    /// A loop for this bot; it begins with the messages that waited.
    pub(super) fn new(
        api: Api,
        settings: &TelegramSettings,
        permissions: Permissions,
        inbound: Inbound,
    ) -> Self {
        if permissions.count() == 0 {
            tracing::warn!(
                "the bot works for nobody yet: write to it, and pair the code that it answers with, or set \
                 AUTONOUS_TELEGRAM_ALLOWED_CHATS"
            );
        }
        let window = i64::try_from(settings.pending_window.as_secs()).unwrap_or(i64::MAX);
        Self {
            api,
            inbound,
            permissions,
            administrators: Administrators::default(),
            menu: Menu::default(),
            pending_max: settings.pending_max,
            backlog: Some(Backlog { not_before: now_ms() / 1000 - window, since_seq: None }),
            failures: 0,
            identity: None,
            outage: StoreOutage::default(),
        }
    }

    /// Receives until `stop`. Errors are logged and retried.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let pause = tokio::select! {
                () = stop.cancelled() => return,
                pause = self.receive() => pause,
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One request; returns the pause before the next.
    async fn receive(&mut self) -> Duration {
        let offset = match self.inbound.store.write(|tx| kv::get(tx, OFFSET)).await {
            Ok(offset) => offset.and_then(|offset| offset.parse().ok()).unwrap_or(0),
            Err(error) => return self.after_store_error(&error),
        };
        let (updates, bot) = match self.fetch(offset).await {
            Ok(fetched) => fetched,
            Err(error) => return self.after_telegram_error(&error),
        };
        self.report(&bot);
        match self.store(updates, &bot).await {
            Ok(()) => {
                self.failures = 0;
                self.menu.set(&self.api).await;
                Duration::ZERO
            }
            Err(error) => self.after_store_error(&error),
        }
    }

    /// Reports that Telegram answers.
    fn report(&self, bot: &Identity) {
        let name = &bot.username;
        let reading = match self.permissions.count() {
            0 => Reading::degraded(
                format!("answers as @{name}, but no chat is allowed"),
                "Write to the bot, and pair the code that it answers with: supervisor pair CODE.",
            ),
            chats => Reading::ok(format!("answers as @{name}, {chats} chats allowed")),
        };
        self.inbound.board.set(PartName::Telegram, reading);
    }

    /// The next updates, and who the bot is.
    async fn fetch(&mut self, offset: i64) -> Result<(Vec<Received>, Identity), CallError> {
        // No long poll for the backlog: its end must be seen at once.
        let hold = if self.backlog.is_some() { Duration::ZERO } else { LONG_POLL };
        let allowed_updates = ["message", "edited_message", "callback_query"];
        let request = GetUpdates { offset, limit: BATCH, timeout: hold.as_secs(), allowed_updates };
        let updates: Vec<Box<RawValue>> = self.api.call_for(&request, hold + PATIENCE).await?;
        if let Some(bot) = &self.identity {
            return Ok((updates::read(&updates), bot.clone()));
        }
        let me = self.api.call(&GetMe::new()).await?;
        let bot = Identity { id: me.user.id.0, username: me.username().to_owned() };
        let allowed = self.permissions.configured();
        tracing::info!(bot = bot.username, ?allowed, "receiving from Telegram");
        self.identity = Some(bot.clone());
        Ok((updates::read(&updates), bot))
    }

    /// Stores a batch together with the offset that confirms it.
    async fn store(&mut self, updates: Vec<Received>, bot: &Identity) -> Result<(), StoreError> {
        let ends_backlog = self.backlog.is_some() && updates.len() < usize::from(BATCH);
        let last = updates.iter().map(|update| update.id).max();
        if last.is_none() && !ends_backlog {
            return Ok(());
        }
        self.learn_administrators(&updates, bot).await;
        let rules = self.rules(bot);
        let classified: Vec<ClassifiedUpdate> =
            updates.iter().map(|update| classify(update, &rules)).collect();
        let effects = Effects::of(&classified);
        let chats = classified.iter().filter(|update| matches!(update.action, UpdateAction::Run(_)));
        let chats: Vec<Chat> = chats.map(|update| update.chat.clone()).collect();
        let next_offset = last.map(|last| last.saturating_add(1));
        let batch = self.batch(classified, next_offset, ends_backlog);
        let presses: Vec<(Press, bool)> =
            updates.iter().filter_map(press::of).map(|press| self.with_permission(press, bot)).collect();
        let stored = self.inbound.store.write(move |tx| {
            let since_seq = batch.store(tx)?;
            let answers = presses.into_iter().map(|(press, may)| press.carry_out(tx, may, &batch.run));
            Ok((since_seq, answers.collect::<Result<Vec<_>, StoreError>>()?))
        });
        let (since_seq, answers) = match stored.await {
            Ok(stored) => stored,
            Err(error) => {
                self.outage.notify(&self.api, chats).await;
                return Err(error);
            }
        };
        self.outage.ended();
        self.apply(effects, answers);
        self.backlog = self.backlog.filter(|_| !ends_backlog);
        if let Some(backlog) = &mut self.backlog {
            backlog.since_seq = since_seq;
        }
        Ok(())
    }

    fn batch(&self, updates: Vec<ClassifiedUpdate>, next_offset: Option<i64>, ends_backlog: bool) -> Batch {
        Batch {
            updates,
            next_offset,
            backlog: self.backlog,
            ends_backlog,
            pending_max: self.pending_max,
            file_requests: Arc::clone(&self.inbound.file_requests),
            models: self.inbound.models.clone(),
            limits: self.inbound.limits,
            inbox: self.inbound.files.clone(),
            owner: self.permissions.owner(),
            run: self.inbound.run.clone(),
        }
    }

    /// Passes on what a stored batch changes elsewhere, and gives the answers to its presses.
    fn apply(&self, effects: Effects, answers: Vec<Answer>) {
        effects.moved.into_iter().for_each(|(from, to)| self.permissions.moved(from, to));
        if effects.brings_files {
            self.inbound.files_came.notify_one();
        }
        // The sender holds back messages for strangers, so the permission comes before the welcome leaves.
        for paired in answers.iter().filter_map(|answer| answer.paired) {
            self.permissions.set_paired(paired, true);
        }
        if effects.cancels || answers.iter().any(|answer| answer.stops) {
            self.inbound.cancel_signal.notify();
        }
        for answer in answers {
            // No answer to a press waits for another one.
            tokio::spawn(answer.give(
                self.api.clone(),
                self.inbound.approvals.clone(),
                self.inbound.store.clone(),
            ));
        }
    }

    fn rules<'a>(&'a self, bot: &'a Identity) -> Rules<'a> {
        Rules {
            bot,
            permissions: &self.permissions,
            administrators: &self.administrators,
            not_before: self.backlog.map(|backlog| backlog.not_before),
        }
    }

    /// A press, and whether it is carried out: a member whom the bot obeys may stop a task, and the owner
    /// alone decides about strangers.
    fn with_permission(&self, press: Press, bot: &Identity) -> (Press, bool) {
        if press.is_a_decision() {
            let by = press.by.and_then(|by| i64::try_from(by.0).ok());
            return (press, by.is_some_and(|by| self.permissions.may_approve(by)));
        }
        if press.is_about_a_stranger() {
            let by = press.by.and_then(|by| i64::try_from(by.0).ok());
            let may = by.is_some() && by == self.permissions.owner();
            return (press, may);
        }
        let may = press.by.zip(press.message).is_some_and(|(user, (place, _))| {
            may_press(user.0, place.chat.0, &self.rules(bot)) == Some(true)
        });
        (press, may)
    }

    /// Asks who administers the groups whose messages and buttons depend on it.
    async fn learn_administrators(&mut self, updates: &[Received], bot: &Identity) {
        let nobody = Administrators::default();
        let rules = Rules { administrators: &nobody, ..self.rules(bot) };
        let messages = updates.iter().filter_map(|received| match &received.update.as_ref()?.kind {
            UpdateKind::Message(message) => Some(message),
            _ => None,
        });
        let of_messages = messages.filter_map(|message| match admit(message, &rules) {
            Admission::AsksAdministrators { group, .. } => Some(group),
            _ => None,
        });
        let of_presses = updates.iter().filter_map(press::of).filter_map(|press| {
            let (user, (place, _)) = press.by.zip(press.message)?;
            let chat = place.chat.0;
            may_press(user.0, chat, &rules).is_none().then_some(chat)
        });
        let groups: HashSet<i64> = of_messages.chain(of_presses).collect();
        if !groups.is_empty() {
            self.administrators.learn(&self.api, groups).await;
        }
    }

    fn after_store_error(&mut self, error: &StoreError) -> Duration {
        tracing::error!(%error, "could not store updates; they stay with Telegram");
        self.failures += 1;
        pause(FIRST_PAUSE, self.failures, LONGEST_PAUSE)
    }

    fn after_telegram_error(&mut self, error: &CallError) -> Duration {
        let growing = pause(FIRST_PAUSE, self.failures, LONGEST_PAUSE);
        let policy = retry_policy(error);
        let (wait, what) = match policy {
            RetryPolicy::NeedsOperator { what, pause } => (pause, Some(what)),
            RetryPolicy::Retry { at_least } => (growing.max(at_least), None),
            RetryPolicy::RetryLimited | RetryPolicy::Moved { .. } | RetryPolicy::Never => (growing, None),
        };
        self.failures += 1;
        self.inbound.board.set(PartName::Telegram, reading(policy, &error.to_string(), self.failures));
        let wait_ms = wait.as_millis();
        match what {
            Some(what) => tracing::error!(%error, wait_ms, "{what}"),
            None => tracing::warn!(%error, wait_ms, "could not get updates from Telegram; trying again"),
        }
        wait
    }
}

/// What an error means for Telegram. A single one passes; several in a row mean that replies do not arrive.
fn reading(policy: RetryPolicy, words: &str, failures: u32) -> Reading {
    const REMEDY: &str = "Check the network and AUTONOUS_TELEGRAM_API_URL.";
    match policy {
        RetryPolicy::NeedsOperator { what, .. } => Reading::failed(what, "Correct it; it is tried again."),
        _ if failures < UNREACHABLE_AFTER => Reading::degraded(words, REMEDY),
        RetryPolicy::Retry { .. }
        | RetryPolicy::RetryLimited
        | RetryPolicy::Moved { .. }
        | RetryPolicy::Never => Reading::failed(words, REMEDY),
    }
}
