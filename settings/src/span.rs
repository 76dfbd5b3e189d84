//! Time spans as people write them: `45s`, `12m`, `3h`, `9d`, `4w`.

use std::str::FromStr;
use std::time::Duration;

/// The units with their lengths in seconds, the largest first.
pub const UNITS: &[(char, u64)] = &[('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// A time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// The time this long before another, in milliseconds since the epoch.
    pub fn before(self, time_ms: i64) -> i64 {
        time_ms.saturating_sub(i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A text that is no span.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a number and a unit, such as 45s, 30m, 12h, 30d or 4w")]
pub struct InvalidSpan;

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
