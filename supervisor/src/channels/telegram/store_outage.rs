//! Tells people that their message can not be stored: the one thing that leaves without the outbox, because
//! the outbox is in the database that takes nothing.
//!
//! Each chat is told once for as long as the trouble lasts. The message itself stays with Telegram.

use std::collections::HashSet;

use teloxide::prelude::Requester;
use teloxide::types::ChatId;

use super::bot::TelegramBot;
use crate::channel::Chat;

const NOTICE: &str = "I cannot store messages at the moment: my database, or the disk that it lies on, takes \
                     no changes. Your message is not lost. It waits at Telegram, and I go on by myself as \
                     soon as there is room.";

/// Who was told.
#[derive(Debug, Default)]
pub struct StoreOutage {
    notified: HashSet<Chat>,
}

impl StoreOutage {
    /// Tells those chats that do not know yet. Nobody waits for a success: it is told at most once.
    pub async fn notify(&mut self, bot: &TelegramBot, chats: Vec<Chat>) {
        for chat in chats {
            let Ok(id) = chat.id.parse() else { continue };
            if self.notified.insert(chat)
                && let Err(error) = bot.api.send_message(ChatId(id), NOTICE).await
            {
                tracing::warn!(
                    error = bot.describe(&error),
                    chat_id = id,
                    "a chat could not be told of the trouble"
                );
            }
        }
    }

    /// It is over; the next one is news again.
    pub fn ended(&mut self) {
        self.notified.clear();
    }
}
