//! The bot, and the person that it belongs to.

use std::time::Duration;

use anyhow::Context as _;
use settings::FILE_ENDING;
use settings::table::{TELEGRAM_ALLOWED_USERS, TELEGRAM_TOKEN};
use telegram::{TelegramSettings, person_who_writes};

use super::{Parts, secret_of};
use crate::check::telegram::telegram;

/// How long somebody may take to write the code.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) async fn set_up(parts: &mut Parts<'_>) -> anyhow::Result<()> {
    parts.say("\nTelegram");
    if set_token(parts).await? {
        set_owner(parts).await?;
    }
    Ok(())
}

/// Whether there is a bot.
async fn set_token(parts: &mut Parts<'_>) -> anyhow::Result<bool> {
    let mut given = secret_of("--telegram-token-file", parts.answers.telegram_token_file.as_deref())?;
    let has_one = parts.draft.source()?.secret(TELEGRAM_TOKEN.name()).is_some();
    if given.is_none() && has_one {
        parts.say("There is a bot.");
        if !parts.dialogue.asks() || !parts.dialogue.confirm("Change it?", false)? {
            return Ok(true);
        }
    }
    loop {
        let question = "The bot's token from @BotFather (empty: no Telegram)";
        let token = match given.take() {
            Some(token) => Some(token),
            None => parts.dialogue.ask_secret(question)?,
        };
        let Some(token) = token else {
            if !has_one {
                parts.draft.unset(&format!("{}{FILE_ENDING}", TELEGRAM_TOKEN.name()));
            }
            return Ok(has_one);
        };
        if let Err(expected) = TELEGRAM_TOKEN.parse(token.expose()) {
            anyhow::ensure!(parts.dialogue.asks(), "the bot's token: expected {expected}");
            parts.say(&format!("Expected {expected}."));
            continue;
        }
        parts.draft.set_secret(TELEGRAM_TOKEN.name(), token);
        let finding = telegram(settings(parts)?.as_ref()).await;
        if parts.accept(&finding)? {
            return Ok(true);
        }
    }
}

fn settings(parts: &Parts<'_>) -> anyhow::Result<Option<TelegramSettings>> {
    Ok(TelegramSettings::read(&parts.draft.source()?)?)
}

/// Who may use the bot, and is asked about the rest.
async fn set_owner(parts: &mut Parts<'_>) -> anyhow::Result<()> {
    if let Some(owner) = parts.answers.owner {
        anyhow::ensure!(owner > 0, "--owner {owner}: expected the ID of a person, a positive number");
        return allow(parts, owner);
    }
    let Some(settings) = settings(parts)?.filter(|settings| settings.owner.is_none()) else { return Ok(()) };
    if !parts.dialogue.asks() {
        parts.say(
            "The bot has no owner yet: name one with --owner ID, or write to the bot once it runs, and type \
             `supervisor pair CODE`.",
        );
        return Ok(());
    }
    if parts.data.is_in_use().unwrap_or(false) {
        parts.say("The supervisor runs and receives the bot's messages. Write to the bot, then type:");
        parts.say("  supervisor pair CODE");
        return Ok(());
    }
    let code = code()?;
    parts.say(&format!(
        "Send the bot this number from the account that it should obey: {code} (within {} minutes)",
        PATIENCE.as_secs() / 60
    ));
    match person_who_writes(&settings, &code, PATIENCE).await {
        Ok(Some(person)) => {
            let id = i64::try_from(person.id).context("the ID of the person is too large")?;
            parts.say(&format!("  ok    paired with {} (ID {id})", person.name));
            allow(parts, id)
        }
        Ok(None) => {
            parts.say("The number did not come. The bot gives a code to those who write to it later.");
            Ok(())
        }
        Err(error) => {
            parts.say(&format!("The bot's messages cannot be received now: {error}"));
            Ok(())
        }
    }
}

/// The owner is the first in the list.
fn allow(parts: &mut Parts<'_>, owner: i64) -> anyhow::Result<()> {
    let mut users = TELEGRAM_ALLOWED_USERS.read(&parts.draft.source()?)?;
    users.retain(|user| *user != owner);
    users.insert(0, owner);
    parts.draft.set(TELEGRAM_ALLOWED_USERS.name(), users.into_iter().collect::<toml_edit::Array>());
    Ok(())
}

/// Six digits: guessed within the time only by chance.
fn code() -> anyhow::Result<String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|_| anyhow::anyhow!("could not read random bytes"))?;
    Ok(format!("{:06}", u32::from_le_bytes(bytes) % 1_000_000))
}
