//! Tells chats that their messages cannot be stored. This does not go through the outbox, which is in the
//! same database.
//!
//! Each chat gets one message per outage. The messages themselves stay with Telegram.

use std::collections::HashSet;

use super::api::Api;
use super::methods;
use super::place::Place;
use crate::channel::Chat;

const NOTICE: &str = "I cannot store messages at the moment: my database, or the disk that it lies on, takes \
                     no changes. Your message is not lost. It waits at Telegram, and I go on by myself as \
                     soon as there is room.";

#[derive(Debug, Default)]
pub(super) struct StoreOutage {
    notified: HashSet<Chat>,
}

impl StoreOutage {
    /// Tells the chats that got no message yet; a failure is not retried.
    pub(super) async fn notify(&mut self, api: &Api, chats: Vec<Chat>) {
        for chat in chats {
            let Ok(place) = chat.id.parse::<Place>() else { continue };
            if self.notified.insert(chat)
                && let Err(error) = methods::send_text(api, place, NOTICE).await
            {
                tracing::warn!(%error, chat_id = %place, "could not tell a chat about the outage");
            }
        }
    }

    /// The outage is over; the next one is announced again.
    pub(super) fn ended(&mut self) {
        self.notified.clear();
    }
}
