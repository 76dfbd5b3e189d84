//! Checks that Telegram knows the bot, with one request that sends nothing to anybody.

use std::time::Duration;

use telegram::{TelegramSettings, Unidentified, username};
use tokio::time::timeout;

use super::Finding;

const NAME: &str = "Telegram";

/// How long Telegram may take.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) async fn telegram(settings: Option<&TelegramSettings>) -> Finding {
    let Some(settings) = settings else {
        return Finding::ok(NAME, "off: AUTONOUS_TELEGRAM_TOKEN is not set");
    };
    match timeout(PATIENCE, username(settings)).await {
        Err(_) => Finding::fail(NAME, "no answer", "Check the network and AUTONOUS_TELEGRAM_API_URL."),
        Ok(Err(Unidentified::Client(error))) => Finding::fail(NAME, error, "Please report this bug."),
        Ok(Err(Unidentified::Call(error))) => {
            let remedy = "Check AUTONOUS_TELEGRAM_TOKEN (from BotFather) and the network.";
            Finding::fail(NAME, error, remedy)
        }
        Ok(Ok(username)) => {
            let named = settings.allowed_chats.len() + settings.allowed_users.len();
            let paired = "`supervisor chats` lists those that were paired";
            let what = format!("reachable as @{username}, {named} chats and users in the settings; {paired}");
            Finding::ok(NAME, what)
        }
    }
}
