//! Receives updates: fetches, classifies and stores them with the new offset in one transaction, and only
//! then confirms them by asking for the next ones.

use std::time::Duration;

use channel::access::Access;
use channel::update_sink::{NotStored, ServiceState, UpdateSink};
use serde_json::json;
use teloxide::payloads::GetMe;
use tokio_util::sync::CancellationToken;

use super::api::{Api, BATCH, CallError, PATIENCE, Received};
use super::bot::{LONG_POLL, RetryPolicy, pause, retry_policy};
use super::content::Identity;
use super::menu::Menu;
use super::translate::translate;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause while there is no answer: the end of a break is seen by the next call.
const LONGEST_BREAK: Duration = Duration::from_secs(10);

/// After so many failures in a row, Telegram counts as out of reach.
const UNREACHABLE_AFTER: u32 = 3;

pub(super) struct Receiver {
    pub(super) api: Api,
    access: Access,
    pub(super) sink: Box<dyn UpdateSink>,
    menu: Menu,
    pub(super) failures: u32,
    /// How many breaks of the network were over when it last asked.
    breaks: u64,
    /// Who the bot is: without it, which messages are for it is unknown.
    identity: Option<Identity>,
}

impl Receiver {
    /// A loop for this bot; it begins with the messages that waited.
    pub(super) fn new(api: Api, access: Access, sink: Box<dyn UpdateSink>, menu: Menu) -> Self {
        if access.count() == 0 {
            tracing::warn!(
                "the bot works for nobody yet: write to it, and pair the code that it answers with, or set \
                 AUTONOUS_TELEGRAM_ALLOWED_CHATS"
            );
        }
        Self { api, access, sink, menu, failures: 0, breaks: 0, identity: None }
    }

    /// Receives until `stop`. Errors are logged and retried.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let pause = tokio::select! {
                () = stop.cancelled() => return,
                pause = self.receive() => pause,
            };
            let reach = self.api.reach();
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                _ = reach.again(self.breaks) => {}
            }
        }
    }

    /// One request; returns the pause before the next.
    async fn receive(&mut self) -> Duration {
        let offset = match self.sink.position().await {
            Ok(offset) => offset.and_then(|offset| offset.parse().ok()).unwrap_or(0),
            Err(error) => return self.after_store_error(&error),
        };
        let (updates, bot) = match self.fetch(offset).await {
            Ok(fetched) => fetched,
            Err(error) if is_about_a_webhook(&error) => return self.remove_webhook().await,
            Err(error) => return self.after_telegram_error(&error),
        };
        self.report(&bot);
        let is_last = updates.len() < usize::from(BATCH);
        match self.store(updates, &bot, is_last).await {
            Ok(()) => {
                self.failures = 0;
                self.set_menu().await;
                Duration::ZERO
            }
            Err(error) => self.after_store_error(&error),
        }
    }

    /// Pairing may have made somebody else the owner.
    pub(super) async fn set_menu(&mut self) {
        self.menu.set(&self.api, self.access.owner().as_deref()).await;
    }

    /// Reports that Telegram answers.
    pub(super) fn report(&self, bot: &Identity) {
        let name = &bot.username;
        self.sink.report(match self.access.count() {
            0 => ServiceState::Degraded {
                detail: format!("answers as @{name}, but no chat is allowed"),
                remedy: "Write to the bot, and pair the code that it answers with: supervisor pair CODE.",
            },
            chats => ServiceState::Ok { detail: format!("answers as @{name}, {chats} chats allowed") },
        });
    }

    /// The next updates, and who the bot is.
    async fn fetch(&mut self, offset: i64) -> Result<(Vec<Received>, Identity), CallError> {
        let reach = self.api.reach();
        // No long poll for the backlog, and none in a break: its end must be seen at once.
        let is_long = !self.sink.is_in_backlog() && reach.is_answering();
        let hold = if is_long { LONG_POLL } else { Duration::ZERO };
        self.breaks = reach.breaks();
        let updates = tokio::select! {
            biased;
            updates = self.api.updates(offset, hold) => updates?,
            // Other calls are not answered, or are again: perhaps this one waits on a dead connection.
            () = reach.broken(), if is_long => return Err(broken()),
            _ = reach.again(self.breaks) => return Err(broken()),
        };
        Ok((updates, self.identify().await?))
    }

    /// Who the bot is; asked once.
    pub(super) async fn identify(&mut self) -> Result<Identity, CallError> {
        if let Some(bot) = &self.identity {
            return Ok(bot.clone());
        }
        let me = self.api.call(&GetMe::new()).await?;
        let bot = Identity { id: me.user.id.0, username: me.username().to_owned() };
        let allowed = self.access.configured();
        tracing::info!(bot = bot.username, ?allowed, "receiving from Telegram");
        self.identity = Some(bot.clone());
        Ok(bot)
    }

    /// Telegram delivers to an address that an earlier start or another program has set, and answers no
    /// requests meanwhile. What waits stays (<https://core.telegram.org/bots/api#deletewebhook>).
    async fn remove_webhook(&mut self) -> Duration {
        tracing::warn!("Telegram delivered to a webhook, which is removed: this program asks for updates");
        match self.api.ask::<bool>("DeleteWebhook", &json!({}), PATIENCE).await {
            Ok(_) => Duration::ZERO,
            Err(error) => self.after_telegram_error(&error),
        }
    }

    /// Stores updates together with the offset that confirms them. `is_last` says that no more come of those
    /// that waited at start.
    pub(super) async fn store(
        &mut self,
        updates: Vec<Received>,
        bot: &Identity,
        is_last: bool,
    ) -> Result<(), NotStored> {
        let next = updates.iter().map(|update| update.id.saturating_add(1)).max();
        let updates = updates.iter().map(|update| translate(update, bot)).collect();
        self.sink.store(updates, next.map(|next| next.to_string()), is_last).await
    }

    fn after_store_error(&mut self, error: &NotStored) -> Duration {
        tracing::error!(%error, "could not store updates; they stay with Telegram");
        self.failures += 1;
        pause(FIRST_PAUSE, self.failures, LONGEST_PAUSE)
    }

    pub(super) fn after_telegram_error(&mut self, error: &CallError) -> Duration {
        let is_unanswered = matches!(error, CallError::NoAnswer { .. });
        let longest = if is_unanswered { LONGEST_BREAK } else { LONGEST_PAUSE };
        let growing = pause(FIRST_PAUSE, self.failures, longest);
        let policy = retry_policy(error);
        let (wait, what) = match policy {
            RetryPolicy::NeedsOperator { what, pause } => (pause, Some(what)),
            RetryPolicy::Retry { at_least } => (growing.max(at_least), None),
            RetryPolicy::RetryLimited | RetryPolicy::Moved { .. } | RetryPolicy::Never => (growing, None),
        };
        self.failures += 1;
        self.sink.report(state(policy, error.to_string(), self.failures));
        let wait_ms = wait.as_millis();
        match what {
            Some(what) => tracing::error!(%error, wait_ms, "{what}"),
            None => tracing::warn!(%error, wait_ms, "could not get updates from Telegram; trying again"),
        }
        wait
    }
}

/// Whether Telegram answers no request for updates because of a webhook.
fn is_about_a_webhook(error: &CallError) -> bool {
    match error {
        CallError::Refused(refusal) => refusal.code == 409 && refusal.description.contains("webhook"),
        CallError::NoAnswer { .. } => false,
    }
}

fn broken() -> CallError {
    CallError::NoAnswer { words: "the network was broken meanwhile".to_owned(), may_be_done: false }
}

/// What an error means for Telegram. A single one passes; several in a row mean that replies do not arrive.
fn state(policy: RetryPolicy, detail: String, failures: u32) -> ServiceState {
    const REMEDY: &str = "Check the network and AUTONOUS_TELEGRAM_API_URL.";
    if let RetryPolicy::NeedsOperator { what, .. } = policy {
        return ServiceState::Failed { detail: what.to_owned(), remedy: "Correct it; it is tried again." };
    }
    match failures < UNREACHABLE_AFTER {
        true => ServiceState::Degraded { detail, remedy: REMEDY },
        false => ServiceState::Failed { detail, remedy: REMEDY },
    }
}
