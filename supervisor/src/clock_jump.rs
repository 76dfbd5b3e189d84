//! A clock that has jumped ahead, so that a wrong one deletes nothing: what was recorded before the jump is
//! as old as it was then, and ages from there. Pure arithmetic on times in milliseconds.

use serde::{Deserialize, Serialize};

/// The share of the retention by which a clock may be ahead of what was last recorded, as a divisor: so long
/// the machine was off.
const ALLOWED_SHARE: i64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClockJump {
    /// Where it led to.
    to_ms: i64,
    /// How much of the time is not known to have passed.
    pub(crate) by_ms: i64,
}

impl ClockJump {
    /// The jump that counts now: `known` from before, and a new one if the clock is far ahead of the time
    /// that was last seen, without the `explained_ms` that have passed since.
    pub(crate) fn noticed(
        known: Option<Self>,
        (seen_ms, explained_ms): (i64, i64),
        now_ms: i64,
        retention_ms: i64,
    ) -> Option<Self> {
        // It was set back, or all from before it has aged enough since.
        let known = known.filter(|jump| (0..retention_ms).contains(&now_ms.saturating_sub(jump.to_ms)));
        let ahead = now_ms.saturating_sub(seen_ms).saturating_sub(explained_ms);
        if ahead <= retention_ms / ALLOWED_SHARE {
            return known;
        }
        let by_ms = known.map_or(0, |jump| jump.by_ms).saturating_add(ahead);
        Some(Self { to_ms: now_ms, by_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    const RETENTION: i64 = 30 * DAY;

    fn noticed(known: Option<ClockJump>, seen: i64, explained: i64, now: i64) -> Option<i64> {
        let known = ClockJump::noticed(known, (seen * DAY, explained * DAY), now * DAY, RETENTION);
        known.map(|jump| jump.by_ms / DAY)
    }

    #[test]
    fn a_clock_that_is_far_ahead_of_what_is_known_has_jumped() {
        for (seen, explained, now, expected) in [
            (100, 0, 101, None),
            (100, 0, 107, None),
            (100, 0, 160, Some(60)),
            (100, 60, 160, None),
            (100, 0, 40, None),
            (100, 1, 161, Some(60)),
        ] {
            assert_eq!(noticed(None, seen, explained, now), expected, "{seen} {explained} {now}");
        }
    }

    #[test]
    fn a_jump_counts_until_it_is_set_back_or_as_much_time_has_passed_as_is_kept() {
        let jump = Some(ClockJump { to_ms: 160 * DAY, by_ms: 60 * DAY });
        assert_eq!(noticed(jump, 161, 0, 162), Some(60));
        assert_eq!(noticed(jump, 161, 0, 102), None, "the clock was set back");
        assert_eq!(noticed(jump, 189, 0, 190), None, "it was right");
        assert_eq!(noticed(jump, 161, 0, 201), Some(40));
        assert_eq!(noticed(jump, 161, 0, 181), Some(80));
    }
}
