//! Text as the page shows it.

use std::borrow::Cow;

use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use protocol::visible;

/// Text of anybody, with what hides or reorders it made visible.
pub(crate) fn words(text: &str) -> Cow<'_, str> {
    visible::escaped(text)
}

/// The beginning of a text, in one line.
pub(crate) fn beginning(text: &str, most_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&line);
    if shown.chars().count() <= most_chars {
        return shown.into_owned();
    }
    let cut: String = shown.chars().take(most_chars.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// The end of an ID, as all commands take it.
pub(crate) fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// The way to a task.
pub(crate) fn task_link(id: &str) -> Markup {
    html! { a href={ "/tasks/" (encoded(id)) } { (short(id)) } }
}

/// A number with spaces between its thousands.
pub(crate) fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| str::from_utf8(g).ok()).collect();
    format!("{}{}", if number < 0 { "−" } else { "" }, groups.join("\u{202f}"))
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{}.{} {unit}", count / size, count % size * 10 / size),
        None => format!("{count} bytes"),
    }
}

/// An amount in millionths; nothing without prices.
pub(crate) fn money(micros: Option<i64>) -> String {
    let amount = micros.and_then(|micros| u64::try_from(micros).ok());
    amount.map(store::quotas::money_in_words).unwrap_or_default()
}

/// A state as a word with a colour; the word alone says it, too.
pub(crate) fn state(state: &str) -> Markup {
    let kind = match state {
        "done" | "ok" | "active" | "granted" | "completed" => "good",
        "dead" | "failed" | "gone" | "denied" | "interrupted" => "bad",
        "in_progress" | "running" => "busy",
        "waits" | "degraded" | "draining" | "expired" => "waits",
        _ => "quiet",
    };
    html! { span class={ "state " (kind) } { (state.replace('_', " ")) } }
}

/// All that does not stand as it is in a part of an address (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_are_read_at_a_glance() {
        let shown = [0, 999, 1000, 1_234_567, -1000].map(number);
        assert_eq!(shown, ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567", "−1\u{202f}000"]);
        assert_eq!([0, 1023, 1536, 3 << 20].map(bytes), ["0 bytes", "1023 bytes", "1.5 KiB", "3.0 MiB"]);
        assert_eq!([Some(2_500_000), None].map(money), ["2.50", ""]);
    }

    #[test]
    fn a_beginning_is_one_line_without_what_reorders_text() {
        assert_eq!(beginning("a\n b\u{202e}c", 80), "a b\\u{202e}c");
        assert_eq!(beginning("one two three", 8), "one two…");
    }

    #[test]
    fn an_address_has_no_sign_with_a_meaning_of_its_own() {
        assert_eq!(encoded("a/b?c=d&e#ä"), "a%2Fb%3Fc%3Dd%26e%23%C3%A4");
    }
}
