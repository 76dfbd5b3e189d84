//! Waits until somebody writes a code to the bot, before a supervisor receives its messages.

use std::time::Duration;

use teloxide::types::UpdateKind;
use tokio::time::{Instant, timeout_at};

use super::bot::{Unidentified, api};
use super::config::TelegramSettings;

/// How long Telegram may hold a request for updates open: a wait is to end soon after its time.
const HOLD: Duration = Duration::from_secs(20);

/// A person who wrote the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired {
    /// The person's ID.
    pub id: u64,
    /// The name that the person shows.
    pub name: String,
}

/// The person who writes `code` to the bot in a private chat; none when the time is over.
///
/// What waited for the bot is confirmed up to that message, so the supervisor does not take the code for a
/// task.
///
/// # Errors
/// Where Telegram refuses, as while another program receives the bot's messages.
pub async fn person_who_writes(
    settings: &TelegramSettings,
    code: &str,
    patience: Duration,
) -> Result<Option<Paired>, Unidentified> {
    let api = api(settings).map_err(|error| Unidentified::Client(error.without_url().to_string()))?;
    let (deadline, mut offset) = (Instant::now() + patience, 0);
    loop {
        let Ok(updates) = timeout_at(deadline, api.updates(offset, HOLD)).await else { return Ok(None) };
        for received in updates.map_err(|error| Unidentified::Call(error.to_string()))? {
            offset = received.id + 1;
            let Some(UpdateKind::Message(message)) = received.update.map(|update| update.kind) else {
                continue;
            };
            let is_code = message.chat.is_private() && message.text().is_some_and(|text| text.trim() == code);
            if let (true, Some(person)) = (is_code, &message.from) {
                let confirmed = api.updates(offset, Duration::ZERO).await;
                confirmed.map_err(|error| Unidentified::Call(error.to_string()))?;
                return Ok(Some(Paired { id: person.id.0, name: person.full_name() }));
            }
        }
    }
}
