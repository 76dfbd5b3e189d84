//! Time spans as people write them: `45s`, `12m`, `3h`, `9d`.

use std::time::Duration;

use settings::UNITS;

/// How long ago a time was, in its largest whole unit; a time in the future is `0s`.
pub fn since(time_ms: i64, now_ms: i64) -> String {
    short(Duration::from_millis(u64::try_from(now_ms.saturating_sub(time_ms)).unwrap_or(0)))
}

/// A span in its largest whole unit, up to days.
pub fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    let days_and_less = UNITS.iter().filter(|(unit, _)| *unit != 'w');
    let filled = days_and_less.into_iter().find(|(_, length)| seconds >= *length);
    filled.map_or_else(|| "0s".to_owned(), |(unit, length)| format!("{}{unit}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_unit_that_it_fills() {
        for (seconds, expected) in
            [(0, "0s"), (59, "59s"), (60, "1m"), (7_199, "1h"), (86_400, "1d"), (8_640_000, "100d")]
        {
            assert_eq!(since(0, seconds * 1000), expected);
        }
        assert_eq!(since(5_000, 0), "0s", "a clock that was set back");
    }
}
