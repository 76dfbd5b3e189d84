//! Times and spans.

use jiff::Timestamp;
use maud::{Markup, html};

/// A time; the script shows it in the time zone of the browser.
pub(crate) fn time(ms: i64) -> Markup {
    let text = utc(ms, "%Y-%m-%d %H:%M");
    html! { time datetime=(utc(ms, "%Y-%m-%dT%H:%M:%SZ")) data-time { (text) } }
}

/// A time of day, to the second.
pub(crate) fn clock(ms: i64) -> Markup {
    let text = utc(ms, "%H:%M:%S");
    html! { time datetime=(utc(ms, "%Y-%m-%dT%H:%M:%SZ")) data-clock { (text) } }
}

/// How long ago something began that lasts; the script counts on.
pub(crate) fn lasting(since_ms: i64, now_ms: i64) -> Markup {
    html! { span data-since=(since_ms) { (span(now_ms - since_ms)) } }
}

/// How long something took, or has lasted so far.
pub(crate) fn took(began_ms: i64, ended_ms: Option<i64>, now_ms: i64) -> Markup {
    match ended_ms {
        Some(ended_ms) => html! { (span(ended_ms - began_ms)) },
        None => lasting(began_ms, now_ms),
    }
}

/// A span, such as `1.2 s` or `3 min 20 s`.
pub(crate) fn span(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{} s", ms % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A time in UTC in a format of `strftime`; nothing for one that no calendar has.
pub(crate) fn utc(ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(ms).map(|at| at.strftime(format).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_its_two_largest_units() {
        let spans = [7, 1234, 12_000, 200_000, 3_720_000, 90_000_000, -5].map(span);
        assert_eq!(spans, ["7 ms", "1.2 s", "12 s", "3 min 20 s", "1 h 2 min", "1 d 1 h", "0 ms"]);
        assert_eq!(utc(0, "%Y-%m-%d %H:%M"), "1970-01-01 00:00");
        assert_eq!(utc(i64::MAX, "%Y"), "");
    }
}
