//! The settings of the Telegram channel: the bot, who may use it, and how fast it works.

use std::collections::HashSet;
use std::time::Duration;

use process::{Secret, VariableError, Variables};

use super::Settings;
use crate::channel::access::{GroupMembers, GroupTrigger};
use crate::transcribe::Transcription;

const TOKEN: &str = "AUTONOUS_TELEGRAM_TOKEN";
const API_URL: &str = "AUTONOUS_TELEGRAM_API_URL";
const ALLOWED_CHATS: &str = "AUTONOUS_TELEGRAM_ALLOWED_CHATS";
const ALLOWED_USERS: &str = "AUTONOUS_TELEGRAM_ALLOWED_USERS";
const APPROVERS: &str = "AUTONOUS_APPROVERS";
const GROUP_MEMBERS: &str = "AUTONOUS_TELEGRAM_GROUP_MEMBERS";
const GROUP_TRIGGER: &str = "AUTONOUS_TELEGRAM_GROUP_TRIGGER";

#[derive(Debug, Clone)]
pub(crate) struct TelegramSettings {
    /// `AUTONOUS_TELEGRAM_TOKEN`.
    pub token: Secret,
    /// `AUTONOUS_TELEGRAM_API_URL` (the public one).
    pub api_url: Option<reqwest::Url>,
    /// `AUTONOUS_TELEGRAM_ALLOWED_CHATS` (empty): the chats that may use the bot.
    pub allowed_chats: HashSet<i64>,
    /// `AUTONOUS_TELEGRAM_ALLOWED_USERS` (empty): the people who may, in private and in groups.
    pub allowed_users: HashSet<i64>,
    /// `AUTONOUS_APPROVERS` (all who may use the bot by themselves): the people who decide about calls that
    /// wait for a person.
    pub approvers: Option<HashSet<i64>>,
    /// The first person of either, who is asked about strangers.
    pub owner: Option<i64>,
    /// `AUTONOUS_TELEGRAM_GROUP_MEMBERS` (`admins`).
    pub group_members: GroupMembers,
    /// `AUTONOUS_TELEGRAM_GROUP_TRIGGER` (`mention`).
    pub group_trigger: GroupTrigger,
    /// `AUTONOUS_TG_PENDING_WINDOW_SECONDS` (600): older messages that waited at start are not run.
    pub pending_window: Duration,
    /// `AUTONOUS_TG_PENDING_MAX_MESSAGES` (50): at most this many of those that waited in a chat are run.
    pub pending_max: u32,
    /// `AUTONOUS_TG_SEND_MAX_ATTEMPTS` (20): a message is given up after this many failures.
    pub send_max_attempts: u32,
    /// `AUTONOUS_TRANSCRIBE` (none): how voice messages become text.
    pub transcription: Option<Transcription>,
}

impl GroupMembers {
    const ALL: [(&'static str, Self); 3] =
        [("admins", Self::Admins), ("listed", Self::Listed), ("all", Self::All)];
}

impl GroupTrigger {
    const ALL: [(&'static str, Self); 2] = [("mention", Self::Mention), ("all", Self::All)];
}

impl TelegramSettings {
    pub(super) fn from_variables(variables: &Variables) -> Result<Option<Self>, VariableError> {
        let window = variables.number("AUTONOUS_TG_PENDING_WINDOW_SECONDS", 600, 0..=86_400)?;
        let pending_max = variables.number("AUTONOUS_TG_PENDING_MAX_MESSAGES", 50, 0..=10_000)?;
        let send_max_attempts = variables.number("AUTONOUS_TG_SEND_MAX_ATTEMPTS", 20, 1..=1000)?;
        let api_url = api_url(variables)?;
        let allowed_chats = numbers(variables, ALLOWED_CHATS, "chat IDs, such as 123456,-100987", |_| true)?;
        let allowed_users = numbers(variables, ALLOWED_USERS, "user IDs, such as 123456,4711", |id| id > 0)?;
        let approvers = numbers(variables, APPROVERS, "user IDs, such as 123456,4711", |id| id > 0)?;
        let approvers = variables.list(APPROVERS).map(|_| approvers);
        let group_members = one_of(variables, GROUP_MEMBERS, &GroupMembers::ALL)?;
        let group_trigger = one_of(variables, GROUP_TRIGGER, &GroupTrigger::ALL)?;
        let Some(token) = variables.secret(TOKEN) else { return Ok(None) };
        if !looks_like_a_bot_token(token.expose()) {
            let expected = "a bot token from BotFather, such as 123456:ABC-DEF";
            return Err(VariableError::new(TOKEN, "***", expected));
        }
        Ok(Some(Self {
            token,
            api_url,
            transcription: Transcription::from_variables(variables)?,
            allowed_chats,
            allowed_users,
            owner: owner(variables),
            approvers,
            group_members,
            group_trigger,
            pending_window: Duration::from_secs(window),
            pending_max: u32::try_from(pending_max).unwrap_or(u32::MAX),
            send_max_attempts: u32::try_from(send_max_attempts).unwrap_or(u32::MAX),
        }))
    }

    pub(super) fn settings(&self) -> Settings {
        let settings = [
            (ALLOWED_CHATS, listed(&self.allowed_chats)),
            (ALLOWED_USERS, listed(&self.allowed_users)),
            (GROUP_MEMBERS, name_of(&GroupMembers::ALL, self.group_members)),
            (GROUP_TRIGGER, name_of(&GroupTrigger::ALL, self.group_trigger)),
            ("AUTONOUS_TG_PENDING_WINDOW_SECONDS", self.pending_window.as_secs().to_string()),
            ("AUTONOUS_TG_PENDING_MAX_MESSAGES", self.pending_max.to_string()),
            ("AUTONOUS_TG_SEND_MAX_ATTEMPTS", self.send_max_attempts.to_string()),
        ];
        let url = self.api_url.iter().map(|url| (API_URL, url.to_string()));
        settings.into_iter().chain(url).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn listed(ids: &HashSet<i64>) -> String {
    let mut ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.sort();
    ids.join(",")
}

fn name_of<T: Copy + PartialEq>(all: &[(&str, T)], value: T) -> String {
    all.iter().find(|(_, other)| *other == value).map_or_else(String::new, |(name, _)| (*name).to_owned())
}

/// The value of this name; the first one if the variable is not set.
fn one_of<T: Copy>(variables: &Variables, name: &str, all: &[(&str, T)]) -> Result<T, VariableError> {
    let Some(text) = variables.text(name) else { return Ok(all[0].1) };
    let found = all.iter().find(|(known, _)| *known == text.trim());
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        VariableError::new(name, text, format!("one of {}", names.join(", ")))
    })
}

fn numbers(
    variables: &Variables,
    name: &str,
    expected: &str,
    is_valid: impl Fn(i64) -> bool,
) -> Result<HashSet<i64>, VariableError> {
    let number = |text: &String| {
        let number = text.parse().ok().filter(|id| is_valid(*id));
        number.ok_or_else(|| VariableError::new(name, text, expected))
    };
    variables.list(name).unwrap_or_default().iter().map(number).collect()
}

/// The first person who may use the bot; groups have negative numbers.
fn owner(variables: &Variables) -> Option<i64> {
    let listed = [ALLOWED_USERS, ALLOWED_CHATS].map(|name| variables.list(name).unwrap_or_default());
    listed.iter().flatten().filter_map(|number| number.parse().ok()).find(|number: &i64| *number > 0)
}

fn api_url(variables: &Variables) -> Result<Option<reqwest::Url>, VariableError> {
    let Some(text) = variables.text(API_URL) else { return Ok(None) };
    match reqwest::Url::parse(text.trim_end_matches('/')) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Some(url)),
        Ok(_) | Err(_) => Err(VariableError::new(API_URL, text, "an http or https address")),
    }
}

fn looks_like_a_bot_token(token: &str) -> bool {
    token.split_once(':').is_some_and(|(id, secret)| {
        let secret_is_plain =
            secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && !secret.is_empty()
            && secret_is_plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowlists_hold_numbers_of_people_and_groups() {
        let variables = Variables::from_pairs([
            (TOKEN, "1:x"),
            (ALLOWED_CHATS, "7, -100123"),
            (ALLOWED_USERS, "8"),
            (GROUP_MEMBERS, "listed"),
        ]);
        let telegram = TelegramSettings::from_variables(&variables).unwrap().unwrap();
        assert_eq!(telegram.allowed_chats, HashSet::from([7, -100_123]));
        assert_eq!(telegram.allowed_users, HashSet::from([8]));
        assert_eq!(telegram.group_members, GroupMembers::Listed);
        assert_eq!(telegram.group_trigger, GroupTrigger::Mention);
        assert_eq!(telegram.settings()[GROUP_MEMBERS], "listed");
    }
}
