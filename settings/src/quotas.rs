//! How much a chat, a user or a token may use in a day: the tables `[limits.…]` of `policy.toml`.
//!
//! The supervisor counts tasks, turns, tokens and money, the tool server seconds of commands, so both read
//! this. Days are those of UTC.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::config_file::{ConfigFile, ConfigFileError};

/// The name of the file in the configuration directory.
pub const FILE: &str = "policy.toml";

/// A day in UTC has no leap seconds here, as in Unix time.
pub const DAY_MS: i64 = 86_400_000;

/// All limits. An absent one limits nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Of each chat.
    pub chat: DailyLimits,
    /// Of each person, in all their chats together.
    pub user: DailyLimits,
    /// Of all who call the tool server with one token.
    pub token: TokenLimits,
}

/// What may be used from midnight to midnight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DailyLimits {
    /// Tasks that begin.
    pub tasks_per_day: Option<u64>,
    /// Turns of the model.
    pub turns_per_day: Option<u64>,
    /// Output and uncached input.
    pub tokens_per_day: Option<u64>,
    /// How long commands run, together.
    pub command_seconds_per_day: Option<u64>,
    /// In the currency of the prices in `models.toml`. A model without prices costs nothing.
    pub money_per_day: Option<Money>,
}

/// What the holders of one token may use. Tasks, turns, tokens and money are not known by token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenLimits {
    /// How long commands run, together.
    pub command_seconds_per_day: Option<u64>,
}

/// An amount of money in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        let micros = (amount * 1e6).round();
        if !(0.0..=1e15).contains(&micros) {
            return Err(serde::de::Error::custom("expected an amount of money such as 2.50, not below zero"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        let micros = micros as u64;
        Ok(Self(micros))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    limits: Limits,
    /// The tool server's.
    #[serde(default, rename = "rule")]
    _rules: IgnoredAny,
}

impl Limits {
    /// The limits in the configuration directory; none without a directory or file.
    ///
    /// # Errors
    /// With the file and the line of the text that is not understood.
    pub fn read(config_dir: Option<&Path>) -> Result<Self, ConfigFileError> {
        let file = config_dir.map(|directory| ConfigFile::read(&directory.join(FILE))).transpose()?.flatten();
        file.map_or(Ok(Self::default()), |file| Ok(file.parse::<Content>()?.limits))
    }
}

/// The next midnight in UTC, in milliseconds since the epoch.
pub fn next_midnight_ms(now_ms: i64) -> i64 {
    now_ms - now_ms.rem_euclid(DAY_MS) + DAY_MS
}

/// How long a day's limit is not free again, in minutes, rounded up.
pub fn minutes_until_midnight(now_ms: i64) -> i64 {
    (next_midnight_ms(now_ms) - now_ms + 59_999) / 60_000
}

/// When a day's limit is free again: `at 00:00 UTC, in 5 h`.
pub fn free_again(now_ms: i64) -> String {
    let minutes = minutes_until_midnight(now_ms);
    let left = if minutes < 60 { format!("{minutes} min") } else { format!("{} h", (minutes + 59) / 60) };
    format!("at 00:00 UTC, in {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_a_mistake_is_named_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Limits::read(Some(directory.path()))
        };
        let limits = read(
            "[[rule]]\nanything = 1\n[limits.chat]\ntasks_per_day = 3\nmoney_per_day = 2.5\n\
             [limits.token]\ncommand_seconds_per_day = 60\n",
        )
        .unwrap();
        assert_eq!((limits.chat.tasks_per_day, limits.chat.money_per_day), (Some(3), Some(Money(2_500_000))));
        assert_eq!(limits.token.command_seconds_per_day, Some(60));
        assert_eq!(limits.user, DailyLimits::default());
        for (text, expected) in [
            ("[limits.chat]\ntask_per_day = 3", ["line 2", "unknown field `task_per_day`"]),
            ("[limits.chats]\ntasks_per_day = 3", ["line 1", "unknown field `chats`"]),
            ("[limits.token]\nturns_per_day = 3", ["line 2", "unknown field `turns_per_day`"]),
            ("[limits.user]\nmoney_per_day = -1.0", ["line 2", "not below zero"]),
            ("[limits.user]\ntasks_per_day = -1", ["line 2", "invalid value"]),
            ("limit = 1", ["line 1", "unknown field `limit`"]),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(expected.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
        assert_eq!(Limits::read(None).unwrap(), Limits::default());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Limits::read(Some(directory.path())).unwrap(), Limits::default());
    }

    #[test]
    fn a_limit_is_free_again_at_the_next_midnight() {
        assert_eq!(next_midnight_ms(0), DAY_MS);
        assert_eq!(next_midnight_ms(DAY_MS - 1), DAY_MS);
        assert_eq!(free_again(0), "at 00:00 UTC, in 24 h");
        assert_eq!(free_again(DAY_MS - 1), "at 00:00 UTC, in 1 min");
        assert_eq!(free_again(DAY_MS - 3_600_000), "at 00:00 UTC, in 1 h");
    }
}
