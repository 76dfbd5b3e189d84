//! The settings of the Telegram channel: the bot, who may use it, and how fast it works.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use process::Secret;
use settings::choices::{GroupMembers, GroupTrigger, Reactions};
use settings::language::Language;
use settings::table::{
    APPROVERS, LANGUAGE, TELEGRAM_ALLOWED_CHATS, TELEGRAM_ALLOWED_USERS, TELEGRAM_API_URL,
    TELEGRAM_GATHER_MS, TELEGRAM_GROUP_MEMBERS, TELEGRAM_GROUP_TRIGGER, TELEGRAM_REACTIONS, TELEGRAM_TOKEN,
    TELEGRAM_WEBHOOK_LISTEN, TELEGRAM_WEBHOOK_URL, TG_PENDING_MAX_MESSAGES, TG_PENDING_WINDOW_SECONDS,
};
use settings::{SettingError, Source};

/// A bot, who may use it, and how fast it works.
#[derive(Debug, Clone)]
pub struct TelegramSettings {
    /// The bot's token.
    pub token: Secret,
    /// Another server than Telegram's own.
    pub api_url: Option<reqwest::Url>,
    /// Where Telegram delivers updates, and the port that they arrive at; none to ask for them.
    pub webhook: Option<(reqwest::Url, SocketAddr)>,
    /// The chats that may use the bot.
    pub allowed_chats: HashSet<i64>,
    /// The people who may, in private and in groups.
    pub allowed_users: HashSet<i64>,
    /// The people who decide about calls that wait for a person.
    pub approvers: Option<HashSet<i64>>,
    /// The first person of either, who is asked about strangers.
    pub owner: Option<i64>,
    /// Who is obeyed in a group.
    pub group_members: GroupMembers,
    /// Which messages of a group count.
    pub group_trigger: GroupTrigger,
    /// Where it reacts to messages.
    pub reactions: Reactions,
    /// How long a sender is quiet before what they sent is one task.
    pub gather: Duration,
    /// Older messages that waited at start are not run.
    pub pending_window: Duration,
    /// At most this many of those that waited in a chat are run.
    pub pending_max: u32,
    /// That of the menu for clients in no language of ours.
    pub language: Language,
}

impl TelegramSettings {
    /// None without a token.
    pub fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let Some(token) = TELEGRAM_TOKEN.read(source)? else { return Ok(None) };
        let allowed_chats = TELEGRAM_ALLOWED_CHATS.read(source)?;
        let allowed_users = TELEGRAM_ALLOWED_USERS.read(source)?;
        Ok(Some(Self {
            token,
            api_url: TELEGRAM_API_URL.read(source)?,
            webhook: webhook(source)?,
            // Groups have negative numbers.
            owner: allowed_users.iter().chain(&allowed_chats).copied().find(|id| *id > 0),
            allowed_chats: allowed_chats.into_iter().collect(),
            allowed_users: allowed_users.into_iter().collect(),
            approvers: APPROVERS.read(source)?.map(|people| people.into_iter().collect()),
            group_members: TELEGRAM_GROUP_MEMBERS.read(source)?,
            group_trigger: TELEGRAM_GROUP_TRIGGER.read(source)?,
            reactions: TELEGRAM_REACTIONS.read(source)?,
            gather: TELEGRAM_GATHER_MS.read(source)?,
            pending_window: TG_PENDING_WINDOW_SECONDS.read(source)?,
            pending_max: TG_PENDING_MAX_MESSAGES.read(source)?,
            language: LANGUAGE.read(source)?,
        }))
    }
}

/// Telegram itself delivers to https alone; a server of one's own also to http.
fn webhook(source: &Source) -> Result<Option<(reqwest::Url, SocketAddr)>, SettingError> {
    let Some(url) = TELEGRAM_WEBHOOK_URL.read(source)? else { return Ok(None) };
    if url.scheme() != "https" && TELEGRAM_API_URL.read(source)?.is_none() {
        return Err(TELEGRAM_WEBHOOK_URL.refuse(url, "an https address: Telegram delivers to no other"));
    }
    Ok(Some((url, TELEGRAM_WEBHOOK_LISTEN.read(source)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowlists_hold_numbers_of_people_and_groups() {
        let source = Source::from_pairs([
            (TELEGRAM_TOKEN.name(), "1:x"),
            (TELEGRAM_ALLOWED_CHATS.name(), "7, -100123"),
            (TELEGRAM_ALLOWED_USERS.name(), "8"),
            (TELEGRAM_GROUP_MEMBERS.name(), "listed"),
        ]);
        let telegram = TelegramSettings::read(&source).unwrap().unwrap();
        assert_eq!(telegram.allowed_chats, HashSet::from([7, -100_123]));
        assert_eq!(telegram.allowed_users, HashSet::from([8]));
        assert_eq!(telegram.group_members, GroupMembers::Listed);
        assert_eq!(telegram.group_trigger, GroupTrigger::Mention);
    }

    #[test]
    fn telegram_itself_delivers_to_https_alone() {
        let read = |url: &str, server: &str| {
            TelegramSettings::read(&Source::from_pairs([
                (TELEGRAM_TOKEN.name(), "1:x"),
                (TELEGRAM_WEBHOOK_URL.name(), url),
                (if server.is_empty() { "UNUSED" } else { TELEGRAM_API_URL.name() }, server),
            ]))
        };
        let error = read("http://bot.example/", "").unwrap_err().to_string();
        assert!(
            error.contains("AUTONOUS_TELEGRAM_WEBHOOK_URL") && error.contains("an https address"),
            "{error}"
        );
        for (url, server) in [("https://bot.example/a", ""), ("http://10.0.0.2/", "http://127.0.0.1:8081")] {
            let (_, listen) = read(url, server).unwrap().unwrap().webhook.unwrap();
            assert_eq!(listen.to_string(), "127.0.0.1:8702");
        }
    }
}
