//! The Telegram channel: a loop that receives updates, and the calls that send messages.
//!
//! Both sides go through the database. An update is confirmed to Telegram only after it is stored, and a
//! message is marked as sent only after Telegram has accepted it. Nothing here runs a task.

mod batch;
pub(crate) mod bot;
mod classify;
mod methods;
mod receive;
mod send;
mod split;
mod store_outage;

use tokio_util::sync::CancellationToken;

use super::inbound::Inbound;
use crate::channel::{BoxFuture, Channel, ChannelName, Content, Delivery, Rejection, SendOutcome};
use crate::config::TelegramSettings;
use crate::health::{PartName, Reading};
use bot::TelegramBot;
use receive::Receiver;

/// The channel's name.
pub const NAME: ChannelName = ChannelName::new("telegram");

/// The most UTF-16 units of a caption (<https://core.telegram.org/bots/api#senddocument>).
const MAX_CAPTION_UNITS: usize = 1024;

/// The Telegram channel; without a bot it is off.
pub(crate) struct Telegram {
    bot: Option<(TelegramBot, TelegramSettings)>,
    inbound: Inbound,
}

impl Telegram {
    /// Creates the client; nothing is sent yet.
    pub(crate) fn new(settings: Option<&TelegramSettings>, inbound: Inbound) -> Result<Self, reqwest::Error> {
        let reading = match settings {
            Some(_) => Reading::untried("not asked yet"),
            None => Reading::off("off: AUTONOUS_TELEGRAM_TOKEN is not set"),
        };
        inbound.board.set(PartName::Telegram, reading);
        let connect = |settings: &TelegramSettings| Ok((TelegramBot::new(settings)?, settings.clone()));
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
            let Some((bot, settings)) = &self.bot else { return };
            Receiver::new(bot.clone(), settings, self.inbound.clone()).run(stop).await;
        })
    }

    fn decorate(&self, reply: &str) -> Vec<Content> {
        split::reply(reply)
    }

    /// Rejects what Telegram would refuse, while somebody can still correct it. The bot writes to no chat
    /// that may not write to it.
    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        check_length(&content)?;
        let Some((_, settings)) = &self.bot else {
            return Err(Rejection::Off { hint: "Start the supervisor with AUTONOUS_TELEGRAM_TOKEN." });
        };
        let number: i64 =
            chat_id.parse().ok().filter(|number: &i64| number.to_string() == chat_id).ok_or_else(|| {
                Rejection::Invalid("`chat` is not the number of a Telegram chat".to_owned())
            })?;
        if !settings.allowed_chats.contains(&number) {
            return Err(Rejection::ChatNotAllowed {
                hint: "Add its number to AUTONOUS_TELEGRAM_ALLOWED_CHATS.",
            });
        }
        Ok(match content {
            Content::Text(text) => split::into_messages(&text).into_iter().map(Content::Text).collect(),
            other @ (Content::Edit { .. }
            | Content::Reaction { .. }
            | Content::Document(_)
            | Content::Voice(_)) => vec![other],
        })
    }

    fn send<'a>(
        &'a self,
        chat_id: &'a str,
        content: &'a Content,
        attempt: u32,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            match &self.bot {
                Some((bot, settings)) => {
                    send::send(bot, settings.send_max_attempts, chat_id, content, attempt).await
                }
                None => SendOutcome::GiveUp { error: "Telegram is off".to_owned() },
            }
        })
    }
}

fn check_length(content: &Content) -> Result<(), Rejection> {
    let (field, most) = match content {
        Content::Edit { .. } => ("text", split::MAX_UNITS),
        Content::Document(_) | Content::Voice(_) => ("caption", MAX_CAPTION_UNITS),
        Content::Text(_) | Content::Reaction { .. } => return Ok(()),
    };
    match split::units(content.text()) {
        units if units <= most => Ok(()),
        units => {
            Err(Rejection::Invalid(format!("`{field}` has {units} UTF-16 units; the maximum is {most}")))
        }
    }
}
