//! When a schedule is due: pure arithmetic with instants, local times and lines of cron.
//!
//! A local time that a clock change skips means the time after the gap, and one that comes twice means the
//! first. A line of cron follows the same rule, once a day for a fixed time.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The fields of a line of cron: minute, hour, day of the month, month, day of the week.
const FIELDS: usize = 5;

const DAY_SECONDS: i64 = 86_400;
const DAY_MINUTES: u32 = 1440;

/// Why a time cannot be understood, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    #[error(
        "`{0}` is no time. Write RFC 3339, such as 2026-11-23T09:00:00+01:00, or a local time, such as \
         2026-11-23T09:00, with `timezone`."
    )]
    NoTime(String),
    #[error("`{0}` is no time zone. Write an IANA name, such as Europe/Berlin or UTC.")]
    NoZone(String),
    #[error(
        "`{0}` is no line of cron with five fields (minute, hour, day of month, month, day of week), such as \
         `0 9 * * 1-5` for nine o'clock on weekdays."
    )]
    NoCron(String),
    #[error("`{0}` never comes.")]
    Never(String),
}

/// The time zone of this name.
pub fn zone(name: &str) -> Result<TimeZone, TimingError> {
    TimeZone::get(name).map_err(|_| TimingError::NoZone(name.to_owned()))
}

/// The instant that a text means: with an offset as it is, without one as local time of the zone.
pub fn instant(text: &str, zone: &TimeZone) -> Result<Timestamp, TimingError> {
    let text = text.trim();
    let no_time = |_| TimingError::NoTime(text.to_owned());
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let local: DateTime = text.parse().map_err(no_time)?;
    Ok(local.to_zoned(zone.clone()).map_err(no_time)?.timestamp())
}

/// The first time after `after` that a line of cron names.
pub fn next(line: &str, zone: &TimeZone, after: Timestamp) -> Result<Timestamp, TimingError> {
    let no_cron = || TimingError::NoCron(line.to_owned());
    if line.split_whitespace().count() != FIELDS {
        return Err(no_cron());
    }
    let cron: Cron = line.parse().map_err(|_| no_cron())?;
    let next = cron.find_next_occurrence(&after.to_zoned(zone.clone()), false);
    next.map(|next: Zoned| next.timestamp()).map_err(|_| TimingError::Never(line.to_owned()))
}

/// The shortest pause between two times that a line of cron names, in minutes, as if each of its days were
/// followed by another. A clock change is left out of account.
pub fn shortest_pause_minutes(line: &str) -> Result<u32, TimingError> {
    let minute = |at: Timestamp| u32::try_from(at.as_second().rem_euclid(DAY_SECONDS) / 60).unwrap_or(0);
    let day = |at: Timestamp| at.as_second().div_euclid(DAY_SECONDS);
    let first = next(line, &TimeZone::UTC, Timestamp::from_second(-1).unwrap_or_default())?;
    let mut minutes = vec![minute(first)];
    let mut at = first;
    while let Ok(later) = next(line, &TimeZone::UTC, at)
        && day(later) == day(first)
    {
        minutes.push(minute(later));
        at = later;
    }
    let overnight = DAY_MINUTES + minutes[0] - minutes[minutes.len() - 1];
    Ok(minutes.windows(2).map(|two| two[1] - two[0]).min().unwrap_or(DAY_MINUTES).min(overnight))
}

/// An instant as local time, such as `2026-11-23 09:00 Europe/Berlin`.
pub fn shown(at_ms: i64, zone: &TimeZone) -> String {
    let name = zone.iana_name().unwrap_or("UTC");
    format!("{} {name}", from_ms(at_ms).to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M"))
}

/// An instant in RFC 3339, with the zone's offset.
pub fn rfc3339(at_ms: i64, zone: &TimeZone) -> String {
    from_ms(at_ms).to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// The instant of a number of milliseconds since the epoch.
pub fn from_ms(at_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at_ms).unwrap_or(if at_ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        zone("Europe/Berlin").unwrap()
    }

    fn occurrences(line: &str, after: &str, count: usize) -> Vec<String> {
        let mut at = instant(after, &berlin()).unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            at = next(line, &berlin(), at).unwrap();
            found.push(rfc3339(at.as_millisecond(), &berlin()));
        }
        found
    }

    #[test]
    fn a_time_is_absolute_or_local() {
        let instant = |text| instant(text, &berlin()).map(|at| at.to_string());
        for text in
            ["2026-11-23T09:00:00+01:00", "2026-11-23T08:00:00Z", "2026-11-23T09:00", "2026-11-23 09:00"]
        {
            assert_eq!(instant(text).as_deref(), Ok("2026-11-23T08:00:00Z"), "{text}");
        }
        for text in ["tomorrow", "", "09:00", "2026-02-30T09:00", "2026-11-23T25:00"] {
            assert!(matches!(instant(text), Err(TimingError::NoTime(_))), "{text}");
        }
        assert!(matches!(zone("Europe/Atlantis"), Err(TimingError::NoZone(_))));
    }

    #[test]
    fn a_fixed_time_comes_once_on_each_day_of_a_clock_change() {
        // 2027-03-28: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00.
        let spring = occurrences("30 2 * * *", "2027-03-27T12:00", 2);
        assert_eq!(spring, ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"]);
        let autumn = occurrences("30 2 * * *", "2026-10-24T12:00", 2);
        assert_eq!(autumn, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
        let local = |text| rfc3339(instant(text, &berlin()).unwrap().as_millisecond(), &berlin());
        assert_eq!(local("2027-03-28T02:30"), "2027-03-28T03:30:00+02:00");
        assert_eq!(local("2026-10-25T02:30"), "2026-10-25T02:30:00+02:00");
    }

    #[test]
    fn an_interval_comes_in_each_hour_of_a_clock_change() {
        let autumn = occurrences("0 * * * *", "2026-10-25T00:30", 4);
        let hours: Vec<&str> = autumn.iter().map(|at| &at[11..16]).collect();
        assert_eq!(hours, ["01:00", "02:00", "02:00", "03:00"]);
    }

    #[test]
    fn the_shortest_pause_is_found_wherever_it_lies() {
        for (line, minutes) in [
            ("* * * * *", 1),
            ("*/5 * * * *", 5),
            ("*/7 * * * *", 4),
            ("0,1 9 1 1 *", 1),
            ("0 9 * * *", 1440),
            ("0 0 1 1 *", 1440),
            ("58 * * * *", 60),
            ("59 9,10 * * *", 60),
            ("0,59 0,23 * * *", 1),
            ("0,58 * * * *", 2),
            ("0 */2 * * *", 120),
        ] {
            assert_eq!(shortest_pause_minutes(line), Ok(minutes), "{line}");
        }
        assert!(shortest_pause_minutes("0 0 30 2 *").is_err());
    }

    #[test]
    fn a_line_that_is_none_or_never_comes_is_refused() {
        let next = |line| next(line, &berlin(), Timestamp::UNIX_EPOCH);
        for line in ["", "* * * *", "* * * * * *", "@daily", "61 * * * *", "a b c d e"] {
            assert!(matches!(next(line), Err(TimingError::NoCron(_))), "{line}");
        }
        assert!(matches!(next("0 0 30 2 *"), Err(TimingError::Never(_))));
    }
}
