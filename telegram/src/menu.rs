//! The menu that Telegram shows beside the input field: the commands of a chat. Those for the owner of the
//! bot are shown in the owner's private chat alone.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use channel::Described;
use settings::choices::Words as _;
use settings::language::Language;
use teloxide::payloads::{DeleteMyCommands, SetMyCommands};
use teloxide::types::{BotCommand, BotCommandScope, ChatId, Recipient, True};

use super::api::{Api, CallError};

/// How long a call may take: the next messages wait for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long after a failure it is tried again. Telegram knows no chat with an owner who has not written yet.
const PAUSE: Duration = Duration::from_secs(10);

/// Sets the menu once in a run, and that of the owner whenever the bot gets another one.
#[derive(Debug)]
pub(super) struct Menu {
    commands: &'static [Described],
    /// That of clients in no language of ours.
    language: Language,
    owner: Option<ChatId>,
    /// What is still to be done, in order.
    open: VecDeque<Step>,
    failed_at: Option<Instant>,
}

/// The menu of one place, for clients in one language or for all others.
#[derive(Debug, Clone, Copy)]
struct Step {
    place: Place,
    language: Option<Language>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Everywhere,
    WithOwner(ChatId),
    /// A chat that shows what all others do.
    WithFormerOwner(ChatId),
}

impl Menu {
    pub(super) fn new(commands: &'static [Described], language: Language) -> Self {
        let open = in_each_language(Place::Everywhere).collect();
        Self { commands, language, owner: None, open, failed_at: None }
    }

    /// Does what is not done yet, for the person who owns the bot now. A failure is logged, and tried again
    /// at a later call.
    pub(super) async fn set(&mut self, api: &Api, owner: Option<&str>) {
        self.follow(owner.and_then(|owner| owner.parse().ok()).map(ChatId));
        if self.failed_at.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        while let Some(step) = self.open.front() {
            if let Err(error) = self.take(api, *step).await {
                if self.failed_at.is_none() {
                    tracing::warn!(%error, place = ?step.place, "could not set the bot's menu of commands");
                }
                self.failed_at = Some(Instant::now());
                return;
            }
            self.failed_at = None;
            self.open.pop_front();
        }
    }

    /// Plans the menus of this owner and of the one before.
    fn follow(&mut self, owner: Option<ChatId>) {
        if owner == self.owner {
            return;
        }
        self.open.retain(|step| match step.place {
            Place::Everywhere => true,
            Place::WithOwner(_) => false,
            Place::WithFormerOwner(former) => Some(former) != owner,
        });
        self.open.extend(owner.into_iter().flat_map(|owner| in_each_language(Place::WithOwner(owner))));
        let former = self.owner.into_iter();
        self.open.extend(former.flat_map(|former| in_each_language(Place::WithFormerOwner(former))));
        (self.owner, self.failed_at) = (owner, None);
    }

    async fn take(&self, api: &Api, step: Step) -> Result<True, CallError> {
        let language_code = step.language.map(|language| language.word().to_owned());
        let (scope, is_owners) = match step.place {
            Place::Everywhere => (None, false),
            Place::WithOwner(owner) => (Some(chat(owner)), true),
            Place::WithFormerOwner(former) => {
                let request = DeleteMyCommands { scope: Some(chat(former)), language_code };
                return api.call_for(&request, PATIENCE).await;
            }
        };
        let words = step.language.unwrap_or(self.language);
        let shown = self.commands.iter().filter(|command| is_owners || !command.is_owners);
        let commands = shown.map(|command| BotCommand::new(command.name, command.summary.to(words)));
        let request = SetMyCommands { commands: commands.collect(), scope, language_code };
        api.call_for(&request, PATIENCE).await
    }
}

/// First for all clients whose language is none of ours.
fn in_each_language(place: Place) -> impl Iterator<Item = Step> {
    let languages = std::iter::once(None).chain(Language::ALL.map(Some));
    languages.map(move |language| Step { place, language })
}

fn chat(id: ChatId) -> BotCommandScope {
    BotCommandScope::Chat { chat_id: Recipient::Id(id) }
}
