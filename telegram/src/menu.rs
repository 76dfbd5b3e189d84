//! The menu that Telegram shows beside the input field: the commands of a chat.

use std::time::Duration;

use channel::Described;
use teloxide::payloads::SetMyCommands;
use teloxide::types::{BotCommand, True};

use super::api::Api;

/// How long it may take: the next messages wait for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// The menu of an earlier run stays, so a failure is not worth more.
const MAX_ATTEMPTS: u32 = 5;

/// Sets the menu once in a run.
#[derive(Debug)]
pub(super) struct Menu {
    commands: &'static [Described],
    attempts: u32,
    is_set: bool,
}

impl Menu {
    pub(super) fn new(commands: &'static [Described]) -> Self {
        Self { commands, attempts: 0, is_set: false }
    }

    /// Sets it if it is not set yet; a failure is logged, and tried again at the next call.
    pub(super) async fn set(&mut self, api: &Api) {
        if self.is_set || self.attempts >= MAX_ATTEMPTS {
            return;
        }
        self.attempts += 1;
        let commands = self.commands.iter().map(|command| BotCommand::new(command.name, command.summary));
        match api.call_for::<_, True>(&SetMyCommands::new(commands), PATIENCE).await {
            Ok(_) => self.is_set = true,
            Err(error) => tracing::warn!(%error, "could not set the bot's menu of commands"),
        }
    }
}
