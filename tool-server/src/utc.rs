//! A time as people and models read it, in UTC.

const MS_PER_DAY: i64 = 86_400_000;

/// Milliseconds since the Unix epoch as `2026-11-22 10:04:59`.
pub(crate) fn shown(time_ms: i64) -> String {
    let (year, month, day) = date(time_ms.div_euclid(MS_PER_DAY));
    let seconds = time_ms.rem_euclid(MS_PER_DAY) / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a day since the epoch. The calendar repeats after 400 years; a year that begins in
/// March has its leap day last.
fn date(days_since_epoch: i64) -> (i64, i64, i64) {
    let days = days_since_epoch + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_date_and_time() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_078_099_199, "2004-02-29 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (1_795_341_899, "2026-11-22 10:04:59"),
        ] {
            assert_eq!(shown(seconds * 1000), expected);
        }
    }
}
