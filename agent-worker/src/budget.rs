//! The limits of a task, as pure decisions: no clock, no I/O.
//!
//! Turns and tokens are judged before each turn, so a turn that began always gets to run the calls it
//! asked for. Wall time is judged by whoever holds the clock, and ends a running request or call too.

use std::time::Duration;

use crate::model::Usage;

/// What one task may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model, retries not counted (`AUTONOUS_CONTROL_MAX_TURNS`, 20).
    pub max_turns: u32,
    /// Time from start to end (`AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS`, 600).
    pub wall_time: Duration,
    /// Output and uncached input together (`AUTONOUS_CONTROL_MAX_TOKENS`, 2,000,000).
    pub max_tokens: u64,
    /// The model's window, in tokens (`AUTONOUS_MODEL_CONTEXT_TOKENS`, 128,000).
    pub context_tokens: usize,
}

/// What one task has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskUsage {
    /// Turns that began.
    pub turns: u32,
    /// All input, the cached part too.
    pub input_tokens: u64,
    /// The part of the input that was cached.
    pub cached_input_tokens: u64,
    /// All output.
    pub output_tokens: u64,
}

/// A limit that ends a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Too many turns.
    Turns,
    /// Too much time.
    WallTime,
    /// Too many tokens.
    Tokens,
}

impl Limits {
    /// The limit that forbids another turn, if any.
    pub fn before_turn(&self, usage: &TaskUsage) -> Option<Limit> {
        if usage.turns >= self.max_turns {
            Some(Limit::Turns)
        } else if usage.counted_tokens() >= self.max_tokens {
            Some(Limit::Tokens)
        } else {
            None
        }
    }

    /// The limit in words: its value, and the variable that sets it.
    pub fn describe(&self, limit: Limit) -> String {
        match limit {
            Limit::Turns => format!("{} turns (AUTONOUS_CONTROL_MAX_TURNS)", self.max_turns),
            Limit::WallTime => {
                format!("{} seconds (AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS)", self.wall_time.as_secs())
            }
            Limit::Tokens => format!("{} tokens (AUTONOUS_CONTROL_MAX_TOKENS)", self.max_tokens),
        }
    }
}

impl Limit {
    /// The limit as events write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallTime => "wall_time",
            Self::Tokens => "tokens",
        }
    }
}

impl TaskUsage {
    /// Adds what a reply cost.
    pub fn add(&mut self, usage: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(usage.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
    }

    /// What counts towards the limit: the cached part of the input costs next to nothing.
    pub fn counted_tokens(&self) -> u64 {
        self.input_tokens.saturating_sub(self.cached_input_tokens).saturating_add(self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { max_turns: 3, wall_time: Duration::from_secs(10), max_tokens: 100, context_tokens: 1 };

    #[test]
    fn a_turn_is_forbidden_once_turns_or_tokens_are_used_up() {
        let usage = |turns, input_tokens, cached_input_tokens, output_tokens| TaskUsage {
            turns,
            input_tokens,
            cached_input_tokens,
            output_tokens,
        };
        for (usage, expected) in [
            (usage(0, 0, 0, 0), None),
            (usage(2, 99, 0, 0), None),
            (usage(3, 0, 0, 0), Some(Limit::Turns)),
            (usage(2, 60, 0, 40), Some(Limit::Tokens)),
            (usage(2, 1000, 950, 40), None),
            (usage(2, 1000, 950, 50), Some(Limit::Tokens)),
            (usage(2, 10, 20, 0), None),
        ] {
            assert_eq!(LIMITS.before_turn(&usage), expected, "{usage:?}");
        }
    }

    #[test]
    fn absurd_usage_does_not_overflow() {
        let mut usage = TaskUsage::default();
        for _ in 0..2 {
            usage.add(Usage { input_tokens: u64::MAX, cached_input_tokens: 0, output_tokens: u64::MAX });
        }
        assert_eq!(LIMITS.before_turn(&usage), Some(Limit::Tokens));
    }
}
