//! The limits of a task, as pure decisions without a clock or I/O.
//!
//! Turns and tokens are checked before each turn, so a turn that began always runs the calls of its reply.
//! The loop checks the wall time, which also ends a running request or call.

use std::time::Duration;

use protocol::{Quota, Spent};
use texts::{Language, Text};

use crate::model::{Reply, Usage};

/// What one task may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Turns; a retried request counts once (`AUTONOUS_CONTROL_MAX_TURNS`, 20).
    pub(crate) max_turns: u32,
    /// Time from start to end (`AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS`, 600).
    pub(crate) wall_time: Duration,
    /// Output plus uncached input (`AUTONOUS_CONTROL_MAX_TOKENS`, 2,000,000).
    pub(crate) max_tokens: u64,
    /// The model's window, in tokens (`AUTONOUS_MODEL_CONTEXT_TOKENS`, 128,000).
    pub(crate) context_tokens: usize,
    /// The longest reply, in tokens, for which the window keeps room.
    pub(crate) max_output_tokens: Option<usize>,
    /// The rest of the day's limits; nothing is limited by default.
    pub(crate) quota: Quota,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskUsage {
    pub(crate) turns: u32,
    pub(crate) tokens: Usage,
    pub(crate) cost_micros: u64,
}

impl TaskUsage {
    /// What a reply took beside the turns.
    pub(crate) fn of(reply: &Reply) -> Self {
        Self { turns: 0, tokens: reply.usage, cost_micros: reply.cost_micros.unwrap_or(0) }
    }

    /// Cached input costs next to nothing.
    fn counted_tokens(&self) -> u64 {
        let Usage { input_tokens, cached_input_tokens, output_tokens } = self.tokens;
        input_tokens.saturating_sub(cached_input_tokens).saturating_add(output_tokens)
    }
}

impl std::ops::AddAssign for TaskUsage {
    fn add_assign(&mut self, other: Self) {
        self.turns = self.turns.saturating_add(other.turns);
        self.tokens += other.tokens;
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

impl From<Spent> for TaskUsage {
    fn from(spent: Spent) -> Self {
        let Spent { turns, input_tokens, cached_input_tokens, output_tokens, cost_micros, wall_ms: _ } =
            spent;
        Self { turns, tokens: Usage { input_tokens, cached_input_tokens, output_tokens }, cost_micros }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Turns,
    WallTime,
    Tokens,
    DailyTurns,
    DailyTokens,
    DailyMoney,
}

impl Limits {
    /// No limits, for tests.
    #[cfg(test)]
    pub(crate) const UNBOUNDED: Self = Self {
        max_turns: u32::MAX,
        wall_time: Duration::MAX,
        max_tokens: u64::MAX,
        context_tokens: usize::MAX,
        max_output_tokens: None,
        quota: Quota { turns: None, tokens: None, cost_micros: None },
    };

    /// The same limits for a task with its part of the limits of the day. What it had `spent` before is not
    /// in that part any more.
    pub(crate) fn of_task(&self, quota: Option<Quota>, spent: &TaskUsage) -> Self {
        let Quota { turns, tokens, cost_micros } = quota.unwrap_or_default();
        let more = |left: Option<u64>, spent: u64| left.map(|left| left.saturating_add(spent));
        let quota = Quota {
            turns: more(turns, u64::from(spent.turns)),
            tokens: more(tokens, spent.counted_tokens()),
            cost_micros: more(cost_micros, spent.cost_micros),
        };
        Self { quota, ..*self }
    }

    /// The limit that forbids another turn, if any.
    pub(crate) fn before_turn(&self, usage: &TaskUsage) -> Option<Limit> {
        let tokens = usage.counted_tokens();
        let is_used_up = |left: Option<u64>, used: u64| left.is_some_and(|left| used >= left);
        [
            (Limit::DailyTurns, is_used_up(self.quota.turns, u64::from(usage.turns))),
            (Limit::DailyTokens, is_used_up(self.quota.tokens, tokens)),
            (Limit::DailyMoney, is_used_up(self.quota.cost_micros, usage.cost_micros)),
            (Limit::Turns, usage.turns >= self.max_turns),
            (Limit::Tokens, tokens >= self.max_tokens),
        ]
        .into_iter()
        .find_map(|(limit, is_used_up)| is_used_up.then_some(limit))
    }

    /// A limit's value and the variable that sets it.
    pub(crate) fn describe(&self, limit: Limit, language: Language) -> String {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let text = match limit {
            Limit::Turns => Text::LimitOfTurns { turns: self.max_turns.into() },
            Limit::WallTime => Text::LimitOfSeconds { seconds: signed(self.wall_time.as_secs()) },
            Limit::Tokens => Text::LimitOfTokens { tokens: signed(self.max_tokens) },
            Limit::DailyTurns => Text::LimitOfDayTurns,
            Limit::DailyTokens => Text::LimitOfDayTokens,
            Limit::DailyMoney => Text::LimitOfDayMoney,
        };
        text.to(language)
    }
}

impl Limit {
    /// Whether waiting for another day is what helps.
    pub(crate) const fn is_daily(self) -> bool {
        match self {
            Self::DailyTurns | Self::DailyTokens | Self::DailyMoney => true,
            Self::Turns | Self::WallTime | Self::Tokens => false,
        }
    }

    /// The name in events.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallTime => "wall_time",
            Self::Tokens => "tokens",
            Self::DailyTurns => "turns_per_day",
            Self::DailyTokens => "tokens_per_day",
            Self::DailyMoney => "money_per_day",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { max_turns: 3, wall_time: Duration::from_secs(10), max_tokens: 100, ..Limits::UNBOUNDED };

    #[test]
    fn the_limits_of_the_day_go_before_those_of_the_task() {
        let check = |quota: Quota, expected: Option<Limit>| {
            let tokens = Usage { input_tokens: 30, cached_input_tokens: 10, output_tokens: 5 };
            let usage = TaskUsage { turns: 3, tokens, cost_micros: 70 };
            let limits = LIMITS.of_task(Some(quota), &TaskUsage::default());
            assert_eq!(limits.before_turn(&usage), expected, "{quota:?}");
            let limits = LIMITS.of_task(Some(quota), &usage);
            assert_eq!(limits.before_turn(&usage), Some(Limit::Turns), "it is spent before: {quota:?}");
        };
        check(Quota::default(), Some(Limit::Turns));
        check(Quota { turns: Some(3), ..Quota::default() }, Some(Limit::DailyTurns));
        check(Quota { tokens: Some(25), ..Quota::default() }, Some(Limit::DailyTokens));
        check(Quota { tokens: Some(26), ..Quota::default() }, Some(Limit::Turns));
        check(Quota { cost_micros: Some(70), ..Quota::default() }, Some(Limit::DailyMoney));
        assert!(LIMITS.describe(Limit::DailyMoney, Language::English).contains("free again at 00:00 UTC"));
    }

    #[test]
    fn a_turn_is_forbidden_once_turns_or_tokens_are_used_up() {
        for ((turns, input_tokens, cached_input_tokens, output_tokens), expected) in [
            ((0, 0, 0, 0), None),
            ((2, 99, 0, 0), None),
            ((3, 0, 0, 0), Some(Limit::Turns)),
            ((2, 60, 0, 40), Some(Limit::Tokens)),
            ((2, 1000, 950, 40), None),
            ((2, 1000, 950, 50), Some(Limit::Tokens)),
            ((2, 10, 20, 0), None),
        ] {
            let usage = TaskUsage {
                turns,
                tokens: Usage { input_tokens, cached_input_tokens, output_tokens },
                cost_micros: 0,
            };
            assert_eq!(LIMITS.before_turn(&usage), expected, "{usage:?}");
        }
    }
}
