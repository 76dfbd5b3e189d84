//! Checks that Telegram knows the bot, with one request that sends nothing to anybody.

use std::time::Duration;

use teloxide::payloads::GetMe;
use tokio::time::timeout;

use super::Finding;
use crate::channels::telegram::bot;
use crate::config::TelegramSettings;

const NAME: &str = "Telegram";

/// How long Telegram may take.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) async fn telegram(settings: Option<&TelegramSettings>) -> Finding {
    let Some(settings) = settings else {
        return Finding::ok(NAME, "off: AUTONOUS_TELEGRAM_TOKEN is not set");
    };
    let api = match bot::api(settings) {
        Ok(api) => api,
        Err(error) => return Finding::fail(NAME, error.without_url().to_string(), "Please report this bug."),
    };
    match timeout(PATIENCE, api.call(&GetMe::new())).await {
        Err(_) => Finding::fail(NAME, "no answer", "Check the network and AUTONOUS_TELEGRAM_API_URL."),
        Ok(Err(error)) => {
            let remedy = "Check AUTONOUS_TELEGRAM_TOKEN (from BotFather) and the network.";
            Finding::fail(NAME, error.to_string(), remedy)
        }
        Ok(Ok(me)) => {
            let named = settings.allowed_chats.len() + settings.allowed_users.len();
            let paired = "`supervisor chats` lists those that were paired";
            let what =
                format!("reachable as @{}, {named} chats and users in the settings; {paired}", me.username());
            Finding::ok(NAME, what)
        }
    }
}
