//! Time spans as people write them: `45s`, `12m`, `3h`, `9d`.

use std::str::FromStr;
use std::time::Duration;

/// The units with their lengths in seconds, the largest first.
const UNITS: &[(char, u64)] = &[('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// How long ago a time was, in its largest whole unit; a time in the future is `0s`.
pub(crate) fn since(time_ms: i64, now_ms: i64) -> String {
    short(Duration::from_millis(u64::try_from(now_ms.saturating_sub(time_ms)).unwrap_or(0)))
}

/// A span in its largest whole unit, up to days.
pub(crate) fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    let days_and_less = UNITS.iter().filter(|(unit, _)| *unit != 'w');
    let filled = days_and_less.into_iter().find(|(_, length)| seconds >= *length);
    filled.map_or_else(|| "0s".to_owned(), |(unit, length)| format!("{}{unit}", seconds / length))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub Duration);

impl Span {
    /// The time this long before another, in milliseconds since the epoch.
    pub(crate) fn before(self, time_ms: i64) -> i64 {
        time_ms.saturating_sub(i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX))
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a number and a unit, such as 45s, 30m, 12h, 30d or 4w")]
pub(crate) struct InvalidSpan;

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let unit = text.chars().last().ok_or(InvalidSpan)?;
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(InvalidSpan)?;
        let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| InvalidSpan)?;
        let seconds = number.checked_mul(*length).filter(|seconds| i64::try_from(*seconds).is_ok());
        Ok(Self(Duration::from_secs(seconds.ok_or(InvalidSpan)?)))
    }
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

    #[test]
    fn a_span_is_read_with_its_unit_and_nothing_else_is_guessed() {
        assert_eq!("30d".parse(), Ok(Span(Duration::from_secs(30 * 86_400))));
        assert_eq!("4w".parse(), Ok(Span(Duration::from_secs(28 * 86_400))));
        for bad in
            ["", "d", "30", "-1d", "1.5h", "1y", "99999999999999999999d", "18446744073709551615w", "3é"]
        {
            assert_eq!(bad.parse::<Span>(), Err(InvalidSpan), "{bad}");
        }
    }
}
