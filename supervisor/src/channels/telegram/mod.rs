//! The Telegram channel: a loop that receives updates, and the calls that send messages.
//!
//! Both sides go through the database. An update is confirmed to Telegram only after it is stored, and a
//! message is marked as sent only after Telegram has accepted it. Nothing here runs a task.

mod administrators;
mod admission;
pub(crate) mod api;
mod batch;
pub(crate) mod bot;
mod classify;
#[cfg(test)]
mod documents;
mod download;
mod identity;
mod incoming;
mod menu;
mod methods;
mod origin;
mod permissions;
mod place;
mod press;
mod receive;
mod send;
mod signs;
mod split;
mod store_message;
mod store_outage;
mod stranger;
pub(crate) mod tools;
mod updates;

use std::time::Duration;

use protocol::ReplyFormat;
use tokio_util::sync::CancellationToken;

use super::inbound::Inbound;
use crate::channel::sign::{Shown, Sign};
use crate::channel::{
    Audience, BoxFuture, Channel, ChannelName, Content, Delivery, Rejection, SendLimits, SendOutcome,
};
use crate::config::TelegramSettings;
use crate::formatting::units;
use crate::health::{PartName, Reading};
use crate::transcribe::Transcriber;
use api::Api;
use download::Downloads;
use permissions::Permissions;
use place::Place;
use receive::Receiver;

/// The channel's name.
pub const NAME: ChannelName = ChannelName::new("telegram");

/// The most UTF-16 units of a caption (<https://core.telegram.org/bots/api#senddocument>).
const MAX_CAPTION_UNITS: usize = 1024;

/// What Telegram takes from a bot (<https://core.telegram.org/bots/faq>, "My bot is hitting limits").
const LIMITS: SendLimits =
    SendLimits { per_second: 30, pause_in_chat: Duration::from_secs(1), per_minute_in_group: 20 };

/// The Telegram channel; without a bot it is off.
pub(crate) struct Telegram {
    bot: Option<Bot>,
    inbound: Inbound,
}

struct Bot {
    api: Api,
    settings: TelegramSettings,
    permissions: Permissions,
    /// None where nothing is received.
    transcriber: Option<Transcriber>,
}

impl Telegram {
    /// Creates the client; nothing is sent yet.
    pub(crate) fn new(settings: Option<&TelegramSettings>, inbound: Inbound) -> Result<Self, reqwest::Error> {
        let reading = match settings {
            Some(_) => Reading::untried("not asked yet"),
            None => Reading::off("off: AUTONOUS_TELEGRAM_TOKEN is not set"),
        };
        inbound.board.set(PartName::Telegram, reading);
        let connect = |settings: &TelegramSettings| {
            let permissions = Permissions::new(settings);
            let transcriber = |files| Transcriber::new(settings.transcription.clone(), files);
            let transcriber = inbound.files.clone().map(transcriber).transpose()?;
            Ok(Bot { api: bot::api(settings)?, settings: settings.clone(), permissions, transcriber })
        };
        Ok(Self { bot: settings.map(connect).transpose()?, inbound })
    }
}

impl Channel for Telegram {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        if self.bot.is_some() { Delivery::Push } else { Delivery::Off }
    }

    fn receive(&self, stop: CancellationToken) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(Bot { api, settings, permissions, transcriber }) = &self.bot else { return };
            if let Err(error) = permissions.load(&self.inbound.store).await {
                tracing::error!(%error, "could not read which chats were paired and which groups moved");
            }
            let receiver = Receiver::new(api.clone(), settings, permissions.clone(), self.inbound.clone());
            let (Some(files), Some(transcriber)) = (self.inbound.files.clone(), transcriber.clone()) else {
                return receiver.run(stop).await;
            };
            let downloads = Downloads { api: api.clone(), inbound: self.inbound.clone(), files, transcriber };
            tokio::join!(receiver.run(stop.clone()), downloads.run(stop));
        })
    }

    fn decorate(&self, reply: &str, format: ReplyFormat) -> Vec<Content> {
        split::reply(reply, format)
    }

    /// Rejects what Telegram would refuse, while somebody can still correct it. The bot writes to no chat
    /// that may not write to it.
    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        check_length(&content)?;
        let Some(Bot { permissions, .. }) = &self.bot else {
            return Err(Rejection::Off { hint: "Start the supervisor with AUTONOUS_TELEGRAM_TOKEN." });
        };
        let place: Place = chat_id.parse().map_err(|_| {
            let rule = "`chat` is neither the number of a Telegram chat nor `CHAT:TOPIC`";
            Rejection::Invalid(rule.to_owned())
        })?;
        if !permissions.allows(place.chat.0) {
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
            | Content::Voice(_)) => vec![other],
        })
    }

    fn limits(&self) -> SendLimits {
        LIMITS
    }

    /// All topics of a group share its limits.
    fn limited_as<'a>(&self, chat_id: &'a str) -> &'a str {
        chat_id.split(':').next().unwrap_or(chat_id)
    }

    /// Groups have negative numbers.
    fn audience(&self, chat_id: &str) -> Audience {
        match (&self.bot, chat_id.parse()) {
            (Some(Bot { permissions, .. }), Ok(Place { chat, .. })) if permissions.allows(chat.0) => {
                if chat.0 < 0 { Audience::Group } else { Audience::Person }
            }
            _ => Audience::Stranger,
        }
    }

    fn moved(&self, from: &str, to: &str) {
        if let (Some(Bot { permissions, .. }), Ok(from), Ok(to)) = (&self.bot, from.parse(), to.parse()) {
            permissions.moved(from, to);
        }
    }

    fn shows_signs(&self) -> bool {
        self.bot.is_some()
    }

    fn show<'a>(&'a self, chat_id: &'a str, sign: &'a Sign) -> BoxFuture<'a, Shown> {
        Box::pin(async move {
            match (&self.bot, chat_id.parse()) {
                (Some(Bot { api, .. }), Ok(place)) => signs::show(api, place, sign).await,
                _ => Shown::Never,
            }
        })
    }

    fn approvers(&self) -> Vec<String> {
        let people = self.bot.iter().flat_map(|bot| bot.permissions.approvers());
        people.map(|person| person.to_string()).collect()
    }

    fn has_approver<'a>(&'a self, chat_id: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let (Some(Bot { api, permissions, .. }), Ok(Place { chat, .. })) = (&self.bot, chat_id.parse())
            else {
                return false;
            };
            if chat.0 > 0 || !permissions.allows(chat.0) {
                return permissions.may_approve(chat.0);
            }
            for person in permissions.approvers() {
                if methods::is_member(api, chat, person).await {
                    return true;
                }
            }
            false
        })
    }

    fn set_paired(&self, chat_id: &str, is_paired: bool) {
        if let (Some(Bot { permissions, .. }), Ok(number)) = (&self.bot, chat_id.parse()) {
            permissions.set_paired(number, is_paired);
        }
    }

    fn configured_chats(&self) -> Vec<String> {
        let numbers = self.bot.iter().flat_map(|bot| bot.permissions.configured());
        numbers.map(|number| number.to_string()).collect()
    }

    fn send<'a>(
        &'a self,
        chat_id: &'a str,
        content: &'a Content,
        attempt: u32,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            match &self.bot {
                Some(Bot { api, settings, .. }) => {
                    let (store, most) = (&self.inbound.store, settings.send_max_attempts);
                    send::send(api, store, most, chat_id, content, attempt).await
                }
                None => SendOutcome::GiveUp { error: "Telegram is off".to_owned() },
            }
        })
    }
}

fn check_length(content: &Content) -> Result<(), Rejection> {
    let (field, most) = match content {
        Content::Edit { .. } | Content::Formatted(_) | Content::Question { .. } => ("text", split::MAX_UNITS),
        Content::Document(_) | Content::Voice(_) => ("caption", MAX_CAPTION_UNITS),
        Content::Text(_) | Content::Reaction { .. } => return Ok(()),
    };
    match units(content.text()) {
        units if units <= most => Ok(()),
        units => {
            Err(Rejection::Invalid(format!("`{field}` has {units} UTF-16 units; the maximum is {most}")))
        }
    }
}
