//! The menu that Telegram shows beside the input field: the commands of a chat.

use std::time::Duration;

use channel::Described;
use settings::choices::Words as _;
use settings::language::Language;
use teloxide::payloads::{SetMyCommands, SetMyCommandsSetters as _};
use teloxide::types::{BotCommand, True};

use super::api::Api;

/// How long it may take: the next messages wait for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// The menu of an earlier run stays, so a failure is not worth more.
const MAX_ATTEMPTS: u32 = 5;

/// Sets the menu once in a run: for clients in each of our languages, and for all others.
#[derive(Debug)]
pub(super) struct Menu {
    commands: &'static [Described],
    /// That of the others.
    language: Language,
    failures: u32,
    /// The languages that are set; the others come first.
    done: usize,
}

impl Menu {
    pub(super) fn new(commands: &'static [Described], language: Language) -> Self {
        Self { commands, language, failures: 0, done: 0 }
    }

    /// Sets what is not set yet; a failure is logged, and tried again at the next call.
    pub(super) async fn set(&mut self, api: &Api) {
        let all = || std::iter::once(None).chain(Language::ALL.map(Some));
        while let Some(language) = all().nth(self.done).filter(|_| self.failures < MAX_ATTEMPTS) {
            match api.call_for::<_, True>(&self.request(language), PATIENCE).await {
                Ok(_) => self.done += 1,
                Err(error) => {
                    self.failures += 1;
                    tracing::warn!(%error, "could not set the bot's menu of commands");
                    return;
                }
            }
        }
    }

    fn request(&self, language: Option<Language>) -> SetMyCommands {
        let words = language.unwrap_or(self.language);
        let command = |command: &Described| BotCommand::new(command.name, command.summary.to(words));
        let request = SetMyCommands::new(self.commands.iter().map(command));
        match language {
            Some(language) => request.language_code(language.word()),
            None => request,
        }
    }
}
