//! The Telegram channel: a loop that receives updates, and the calls that send messages.
//!
//! Both sides go through the database. An update is confirmed to Telegram only after it is stored, and a
//! message is marked as sent only after Telegram has accepted it. Nothing here runs a task.

mod administrators;
mod album;
mod api;
mod bot;
mod config;
mod content;
#[cfg(test)]
mod documents;
mod download;
mod menu;
mod pair_by_code;
mod receive;
mod send;
mod signs;
mod split;
mod translate;
mod upload;
mod webhook;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use channel::access::{Access, AccessRules, GroupMembers, GroupTrigger};
use channel::content::{File, StoredFiles};
use channel::download::{Download, NoDownload};
use channel::formatting::{FormattedText, units};
use channel::reach::Reach;
use channel::sign::{Shown, Sign, Stage};
use channel::update::PressAnswer;
use channel::update_sink::UpdateSink;
use channel::{
    BacklogLimits, BoxFuture, Channel, ChannelName, Content, Delivery, Described, Outgoing, Rejection,
    SendLimits, SendOutcome,
};
use protocol::{MessageId, PersonId, ReplyFormat};
use settings::choices::Reactions;
use teloxide::payloads::{AnswerCallbackQuery, AnswerCallbackQuerySetters as _, EditMessageReplyMarkup};
use teloxide::types::CallbackQueryId;
use texts::Language;
use tokio_util::sync::CancellationToken;

use administrators::Administrators;
use api::Api;
use menu::Menu;
use receive::Receiver;
use translate::Place;

pub use bot::{Unidentified, username};
pub use config::TelegramSettings;
pub use content::Identity;
pub use pair_by_code::{Paired, person_who_writes};
pub use translate::read_update;
pub use webhook::Webhook;

/// The channel's name.
pub const NAME: ChannelName = ChannelName::new("telegram");

/// The most UTF-16 units of a caption (<https://core.telegram.org/bots/api#senddocument>).
const MAX_CAPTION_UNITS: usize = 1024;

/// What Telegram takes from a bot (<https://core.telegram.org/bots/faq>, "My bot is hitting limits").
const LIMITS: SendLimits =
    SendLimits { per_second: 30, pause_in_chat: Duration::from_secs(1), per_minute_in_group: 20 };

/// Telegram shows at most this many characters of the answer to a press.
const MAX_ANSWER_CHARS: usize = 200;

/// The Telegram channel; without a bot it is off.
pub struct Telegram {
    bot: Option<Bot>,
    access: Access,
    files: Arc<dyn StoredFiles>,
    menu: &'static [Described],
}

struct Bot {
    api: Api,
    settings: TelegramSettings,
    administrators: Administrators,
    /// Taken by the receiver; none where it asks for updates.
    webhook: Mutex<Option<Webhook>>,
}

impl Telegram {
    /// Creates the client; nothing is sent yet. Without settings the channel is off.
    pub fn new(
        settings: Option<&TelegramSettings>,
        webhook: Option<Webhook>,
        files: Arc<dyn StoredFiles>,
        menu: &'static [Described],
    ) -> Result<Self, reqwest::Error> {
        let connect = |settings: &TelegramSettings| {
            let (api, settings) = (bot::api(settings)?, settings.clone());
            let webhook = Mutex::new(webhook);
            Ok(Bot { api, settings, administrators: Administrators::default(), webhook })
        };
        let bot = settings.map(connect).transpose()?;
        Ok(Self { bot, access: Access::new(access_rules(settings)), files, menu })
    }

    /// The bot and the place of a chat; none if there is no bot, or no such place.
    fn at(&self, chat_id: &str) -> Option<(&Bot, Place)> {
        Some((self.bot.as_ref()?, chat_id.parse().ok()?))
    }
}

/// Access by the settings; none without them. Groups have negative numbers.
pub fn access_rules(settings: Option<&TelegramSettings>) -> AccessRules {
    let texts = |ids: &HashSet<i64>| ids.iter().map(i64::to_string).collect::<BTreeSet<_>>();
    AccessRules {
        chats: settings.map(|settings| texts(&settings.allowed_chats)).unwrap_or_default(),
        users: settings.map(|settings| texts(&settings.allowed_users)).unwrap_or_default(),
        approvers: settings.and_then(|settings| settings.approvers.as_ref().map(texts)),
        owner: settings.and_then(|settings| settings.owner).map(|owner| owner.to_string()),
        group_members: settings.map_or(GroupMembers::Listed, |settings| settings.group_members),
        group_trigger: settings.map_or(GroupTrigger::Mention, |settings| settings.group_trigger),
        is_group: |id| id.starts_with('-'),
        is_open: false,
    }
}

impl Channel for Telegram {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        if self.bot.is_some() { Delivery::Push } else { Delivery::Off }
    }

    fn access(&self) -> &Access {
        &self.access
    }

    fn backlog(&self) -> Option<BacklogLimits> {
        let Bot { settings, .. } = self.bot.as_ref()?;
        Some(BacklogLimits { window: settings.pending_window, most: settings.pending_max })
    }

    fn quiet_time(&self) -> Duration {
        self.bot.as_ref().map_or(Duration::ZERO, |bot| bot.settings.gather)
    }

    fn receive(
        self: Arc<Self>,
        sink: Box<dyn UpdateSink>,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Some(Bot { api, settings, webhook, .. }) = &self.bot else { return };
            let menu = Menu::new(self.menu, settings.language);
            let receiver = Receiver::new(api.clone(), self.access.clone(), sink, menu);
            let webhook = webhook.lock().unwrap_or_else(PoisonError::into_inner).take();
            match webhook {
                Some(webhook) => receiver.receive_deliveries(webhook, stop).await,
                None => receiver.run(stop).await,
            }
        })
    }

    fn download<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<Download, NoDownload>> {
        Box::pin(async move {
            match &self.bot {
                Some(Bot { api, .. }) => download::begin(api, source).await,
                None => Err(NoDownload::Later("Telegram is off".to_owned())),
            }
        })
    }

    fn decorate(&self, reply: &str, format: ReplyFormat, language: Language) -> Vec<Content> {
        split::reply(reply, format, language)
    }

    /// Rejects what Telegram would refuse, while somebody can still correct it. The bot writes to no chat
    /// that may not write to it.
    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        check_length(&content)?;
        if self.bot.is_none() {
            return Err(Rejection::Off { hint: "Start the supervisor with AUTONOUS_TELEGRAM_TOKEN." });
        }
        let _: Place = chat_id.parse().map_err(|_| {
            let rule = "`chat` is neither the number of a Telegram chat nor `CHAT:TOPIC`";
            Rejection::Invalid(rule.to_owned())
        })?;
        if !self.access.allows(chat_id) {
            return Err(Rejection::ChatNotAllowed {
                hint: "Write to the bot from it and pair the code that it answers with, or add its number to \
                       AUTONOUS_TELEGRAM_ALLOWED_CHATS.",
            });
        }
        Ok(match content {
            Content::Text(text) => split::into_messages(&text),
            other @ (Content::Formatted(_)
            | Content::Question { .. }
            | Content::Edit { .. }
            | Content::Reaction { .. }
            | Content::Document(_)
            | Content::Album(_)
            | Content::Voice(_)) => vec![other],
        })
    }

    fn caption(&self, markdown: &str) -> FormattedText {
        split::caption(markdown)
    }

    fn together(&self, files: Vec<File>) -> Vec<Content> {
        album::together(files)
    }

    fn limits(&self) -> SendLimits {
        LIMITS
    }

    fn reach(&self) -> Arc<Reach> {
        self.bot.as_ref().map_or_else(Arc::default, |bot| bot.api.reach())
    }

    /// Telegram has them in private chats.
    fn has_drafts(&self, chat_id: &str) -> bool {
        !chat_id.starts_with('-')
    }

    fn growing(&self, markdown: &str, max_units: usize) -> FormattedText {
        split::growing(markdown, max_units.min(split::MAX_UNITS))
    }

    fn show<'a>(&'a self, chat_id: &'a str, sign: &'a Sign) -> BoxFuture<'a, Shown> {
        Box::pin(async move {
            let Some((bot, place)) = self.at(chat_id) else { return Shown::Never };
            signs::show(&bot.api, place, sign).await
        })
    }

    fn reactions(&self) -> Reactions {
        self.bot.as_ref().map_or(Reactions::Off, |bot| bot.settings.reactions)
    }

    fn show_stage<'a>(
        &'a self,
        chat_id: &'a str,
        message: &'a MessageId,
        stage: Stage,
    ) -> BoxFuture<'a, Shown> {
        Box::pin(async move {
            let Some((bot, place)) = self.at(chat_id) else { return Shown::Never };
            signs::react(&bot.api, place, message, stage).await
        })
    }

    /// Telegram refuses an answer that comes too late or twice, which changes nothing.
    fn answer(&self, answer: PressAnswer) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(Bot { api, .. }) = &self.bot else { return };
            let words: String = answer.words.chars().take(MAX_ANSWER_CHARS).collect();
            let request = AnswerCallbackQuery::new(CallbackQueryId(answer.press_id)).text(words);
            if let Err(error) = api.call(&request).await {
                tracing::debug!(%error, "could not answer the press of a button");
            }
            let Some((chat, message)) = answer.closes else { return };
            let Ok(Place { chat, .. }) = chat.id.parse() else { return };
            let request = EditMessageReplyMarkup::new(chat, send::target(&message));
            if let Err(error) = api.call(&request).await {
                tracing::debug!(%error, "the buttons of a question are gone already");
            }
        })
    }

    fn administrators<'a>(&'a self, group: &'a str) -> BoxFuture<'a, Option<HashSet<PersonId>>> {
        Box::pin(async move {
            let (bot, place) = self.at(group)?;
            bot.administrators.of(&bot.api, place.chat).await
        })
    }

    fn is_member<'a>(&'a self, group: &'a str, person: &'a PersonId) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some((bot, place)) = self.at(group) else { return false };
            send::is_member(&bot.api, place.chat, person).await
        })
    }

    fn send<'a>(&'a self, outgoing: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            match &self.bot {
                Some(Bot { api, .. }) => send::send(api, &self.files, outgoing).await,
                None => SendOutcome::GiveUp { error: "Telegram is off".to_owned() },
            }
        })
    }
}

fn check_length(content: &Content) -> Result<(), Rejection> {
    let (field, most) = match content {
        Content::Edit { .. } | Content::Formatted(_) | Content::Question { .. } => ("text", split::MAX_UNITS),
        Content::Document(_) | Content::Album(_) | Content::Voice(_) => ("caption", MAX_CAPTION_UNITS),
        Content::Text(_) | Content::Reaction { .. } => return Ok(()),
    };
    match units(content.text()) {
        units if units <= most => Ok(()),
        units => {
            Err(Rejection::Invalid(format!("`{field}` has {units} UTF-16 units; the maximum is {most}")))
        }
    }
}
