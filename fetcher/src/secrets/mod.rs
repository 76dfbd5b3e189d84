//! Secrets in what others send: found in every form in which they could come back, and replaced.

mod decoded;

use std::ops::Range;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use protocol::hash::in_hex;

pub use decoded::readings;

/// What stands for a secret.
const PLACEHOLDER: &str = "***REDACTED***";

/// Shorter values occur within words, so they are found only as whole words.
const MIN_INSIDE_WORDS: usize = 8;

/// Shorter values are never found, nor are shorter beginnings and ends of a value.
const MIN_BYTES: usize = 4;

/// The most that the coded form of a byte takes: a percent code within a percent code, and the like.
const LONGEST_CODE: usize = 12;

/// Secrets to look for.
#[derive(Default)]
pub struct Secrets {
    forms: Vec<String>,
    automaton: Option<AhoCorasick>,
}

impl Secrets {
    /// These secrets, as they are, in base64 and in hex, within other base64 as well.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= MIN_BYTES).flat_map(forms).collect();
        forms.sort_unstable();
        forms.dedup();
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(&forms);
        let automaton = automaton.ok().filter(|_| !forms.is_empty());
        Self { forms, automaton }
    }

    /// Whether there is one in a text, in whatever form.
    pub fn are_in(&self, text: &[u8]) -> bool {
        !self.spans(text).is_empty()
    }

    /// How much of a stream must be looked at together with what follows it.
    pub(crate) fn longest(&self) -> usize {
        self.forms.iter().map(String::len).max().unwrap_or(0) * LONGEST_CODE
    }

    /// Replaces them in a text.
    pub(crate) fn redact(&self, text: &mut String) {
        replace(text, self.spans(text.as_bytes()));
    }

    /// The same for a text that is a part of another: it may begin and end within a secret.
    pub(crate) fn redact_part(&self, text: &mut String) {
        self.redact(text);
        let ends = self.ends(text.as_bytes());
        replace(text, ends);
    }

    fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut spans = self.found(automaton, text);
        for layer in decoded::layers(text) {
            spans.extend(self.found(automaton, &layer.bytes).iter().map(|span| layer.source(span)));
        }
        spans
    }

    fn found(&self, automaton: &AhoCorasick, text: &[u8]) -> Vec<Range<usize>> {
        // To ask for any is cheaper than to list all, and there is hardly ever one.
        if !automaton.is_match(text) {
            return Vec::new();
        }
        let is_short = |pattern: usize| self.forms[pattern].len() < MIN_INSIDE_WORDS;
        automaton
            .find_overlapping_iter(text)
            .filter(|hit| !is_short(hit.pattern().as_usize()) || is_whole_word(text, &hit.range()))
            .map(|hit| hit.range())
            .collect()
    }

    /// The longest beginning of a secret that the text ends with, and the longest end that it begins with.
    fn ends(&self, text: &[u8]) -> Vec<Range<usize>> {
        let lengths = |form: &String| (MIN_BYTES..form.len()).rev();
        let ends = self.forms.iter().filter_map(|form| {
            let form_bytes = form.as_bytes();
            lengths(form).find(|length| ends_with(text, &form_bytes[..*length]))
        });
        let begins = self.forms.iter().filter_map(|form| {
            let form_bytes = form.as_bytes();
            lengths(form).find(|length| begins_with(text, &form_bytes[form_bytes.len() - *length..]))
        });
        let end = ends.max().map(|length| text.len() - length..text.len());
        end.into_iter().chain(begins.max().map(|length| 0..length)).collect()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.forms.len())
    }
}

/// A secret of the form `user:password` is also that password.
fn forms(secret: &str) -> Vec<String> {
    let password = secret.split_once(':').map(|(_, password)| password);
    let values = std::iter::once(secret).chain(password).filter(|value| value.len() >= MIN_BYTES);
    values
        .flat_map(|value| [vec![value.to_owned(), in_hex(value.as_bytes())], base64_forms(value)].concat())
        .collect()
}

/// The part of a text's base64 that does not depend on what surrounds the text, for each position within
/// three bytes.
fn base64_forms(text: &str) -> Vec<String> {
    let pieces = (0..3).flat_map(|lead| {
        let framed = [vec![0; lead].as_slice(), text.as_bytes()].concat();
        let (first, last) = ((lead * 8).div_ceil(6), framed.len() * 8 / 6);
        [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(&framed)[first..last].to_owned())
    });
    let whole = [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(text));
    whole.into_iter().chain(pieces).filter(|piece| piece.len() >= MIN_INSIDE_WORDS).collect()
}

fn is_whole_word(text: &[u8], span: &Range<usize>) -> bool {
    let joins = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    !joins(text[..span.start].last()) && !joins(text[span.end..].first())
}

fn ends_with(text: &[u8], end: &[u8]) -> bool {
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

fn begins_with(text: &[u8], start: &[u8]) -> bool {
    text.len() >= start.len() && text[..start.len()].eq_ignore_ascii_case(start)
}

fn replace(text: &mut String, mut spans: Vec<Range<usize>>) {
    if spans.is_empty() {
        return;
    }
    spans.sort_unstable_by_key(|span| span.start);
    let (mut clean, mut next) = (String::with_capacity(text.len()), 0);
    for span in spans {
        let (start, end) = (text.floor_char_boundary(span.start), text.ceil_char_boundary(span.end));
        if end <= next {
            continue;
        }
        if start >= next {
            clean.push_str(&text[next..start]);
            clean.push_str(PLACEHOLDER);
        }
        next = end;
    }
    clean.push_str(&text[next..]);
    *text = clean;
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const SECRET: &str = "k3y/with+odd=chars&more";

    fn check(secret: &str, text: &str, expected: &str) {
        let mut text = text.to_owned();
        Secrets::new([secret]).redact(&mut text);
        assert_eq!(text, expected);
    }

    #[test]
    fn a_secret_is_found_in_every_form_in_which_a_server_may_repeat_it() {
        let each = |form: &dyn Fn(u8) -> String| SECRET.bytes().map(form).collect::<String>();
        for form in [
            SECRET.to_owned(),
            SECRET.to_uppercase(),
            each(&|byte| format!("%{byte:02X}")),
            each(&|byte| format!("%25{byte:02x}")),
            each(&|byte| format!("&#{byte};")),
            each(&|byte| format!("&#x{byte:X};")),
            each(&|byte| format!("\\u{byte:04x}", byte = u32::from(byte))),
            each(&|byte| format!("\\\\u{byte:04x}", byte = u32::from(byte))),
            SECRET.replace('&', "&amp;"),
            SECRET.replace('/', "\\/").replace('&', "\\u0026"),
            SECRET.replace('/', "%2f").replace('&', "&amp;amp;"),
            STANDARD.encode(SECRET).trim_end_matches('=').to_owned(),
            URL_SAFE.encode(SECRET).trim_end_matches('=').to_owned(),
            in_hex(SECRET.as_bytes()),
            in_hex(SECRET.as_bytes()).to_uppercase(),
        ] {
            check(SECRET, &format!("it is <{form}>!"), "it is <***REDACTED***>!");
        }
        for frame in ["", "x", "xy", "xyz"] {
            let mut text = STANDARD.encode(format!("{frame}{SECRET}{frame}"));
            Secrets::new([SECRET]).redact(&mut text);
            assert!(text.contains(PLACEHOLDER), "{frame}: {text}");
        }
    }

    #[test]
    fn the_password_of_a_pair_is_a_secret_by_itself_and_short_ones_are_whole_words() {
        check("ada:lovelace-1815", "you are ada with lovelace-1815", "you are ada with ***REDACTED***");
        check("oak5x", "(oak5x) soak5x oak5x_", "(***REDACTED***) soak5x oak5x_");
        check("abc", "abc", "abc");
    }

    #[test]
    fn a_part_of_a_text_shows_no_part_of_a_secret_at_its_ends() {
        let secrets = Secrets::new(["hunter2-hunter2"]);
        let echo = "token: hunter2-hunter2, ok";
        for end in 12..echo.len() {
            let mut head = echo[..end].to_owned();
            secrets.redact_part(&mut head);
            assert!(!head.contains("hunt"), "{head}");
            let mut tail = echo[end..].to_owned();
            secrets.redact_part(&mut tail);
            assert!(!tail.contains("ter2"), "{tail}");
        }
    }

    #[test]
    fn nothing_is_found_where_there_is_nothing() {
        let secrets = Secrets::new([SECRET, "hunter2-hunter2"]);
        for text in ["", "hunter2", "100 % of & nothing \\", "k3y/with"] {
            assert!(!secrets.are_in(text.as_bytes()), "{text}");
        }
        assert!(!Secrets::default().are_in(b"anything"));
        assert!(!format!("{secrets:?}").contains("hunter2"));
    }
}
