//! What a person who decides sees of a secret: that it is there, how long it is and where it stands.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::note::note;
use super::{Context, MAX_PASSES, PLACEHOLDER, Redactor, json, spans};

/// How far before a secret its name is looked for, in bytes.
const MOST_BEFORE: usize = 2000;

/// The words before a credential that name its kind.
const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "digest ", "apikey "];

/// A part of a text.
#[derive(Debug, Clone)]
enum Piece {
    Plain(String),
    Secret(String),
}

impl Piece {
    fn shown(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(_) => PLACEHOLDER,
        }
    }
}

impl Redactor {
    /// The text with a note in place of each secret; borrowed when it has none.
    pub fn noted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut pieces = vec![Piece::Plain(text.to_owned())];
        for _ in 0..MAX_PASSES {
            let shown: String = pieces.iter().map(Piece::shown).collect();
            let found = self.find(&shown);
            if found.is_empty() {
                break;
            }
            pieces = hidden(pieces, &spans::united(found));
        }
        if matches!(pieces.as_slice(), [Piece::Plain(_)]) {
            return Cow::Borrowed(text);
        }
        let mut noted = String::new();
        let mut before = String::new();
        for piece in &pieces {
            match piece {
                Piece::Plain(text) => noted.push_str(text),
                Piece::Secret(secret) => noted.push_str(&note(secret, place(&before))),
            }
            before.push_str(piece.shown());
        }
        Cow::Owned(noted)
    }

    /// The same for a JSON value: a string under a secret's name is one secret.
    pub fn note_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Cow::Owned(noted) = self.noted(text) {
                    *text = noted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.note_value(item)),
            Value::Object(fields) => {
                json::note_fields(self, fields);
            }
        }
    }

    /// The same for the arguments of a command, as in [`Redactor::redact_command`].
    pub fn note_command(&self, value: &mut Value) {
        Self { own: std::sync::Arc::clone(&self.own), context: Context::Command }.note_value(value);
    }
}

/// The pieces with these spans of what they show as secrets.
fn hidden(pieces: Vec<Piece>, spans: &[Range<usize>]) -> Vec<Piece> {
    let mut result: Vec<Piece> = Vec::new();
    let (mut at, mut open) = (0, None::<(usize, String)>);
    let mut spans = spans.iter().peekable();
    for piece in pieces {
        let end = at + piece.shown().len();
        let mut from = at;
        while from < end {
            if let Some((until, mut secret)) = open.take() {
                let to = until.min(end);
                secret.push_str(part(&piece, at, from..to));
                from = to;
                if until > end || (until == end && to < until) {
                    open = Some((until, secret));
                } else {
                    result.push(Piece::Secret(secret));
                }
                continue;
            }
            let next = spans.next_if(|span| span.start < end);
            let to = next.map_or(end, |span| span.start.max(from));
            match &piece {
                Piece::Plain(_) if to > from => {
                    result.push(Piece::Plain(part(&piece, at, from..to).to_owned()))
                }
                Piece::Secret(_) if to > from => result.push(piece.clone()),
                _ => {}
            }
            from = to;
            open = next.map(|span| (span.end, String::new()));
        }
        at = end;
    }
    result.extend(open.map(|(_, secret)| Piece::Secret(secret)));
    result
}

/// The original of a range of the shown text; a secret is whole or nothing.
fn part(piece: &Piece, at: usize, range: Range<usize>) -> &str {
    match piece {
        Piece::Plain(text) => &text[range.start - at..range.end - at],
        Piece::Secret(secret) => secret,
    }
}

/// What stands before a secret, in words.
fn place(before: &str) -> Option<String> {
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(MOST_BEFORE))..];
    let line = before.rsplit('\n').next().unwrap_or(before);
    let near = without_scheme(line.trim_end_matches(is_quote)).trim_end_matches(is_quote);
    let end = near.trim_end().len();
    let word_at = end - after_last(&near[..end], |letter| letter.is_whitespace() || is_quote(letter)).len();
    let word = &near[word_at..];
    if let Some(text) = word.strip_suffix('=') {
        return place_of_value(text);
    }
    if let Some(text) = near.trim_end().strip_suffix(':') {
        if word.contains("://") {
            return Some("password in the address".to_owned());
        }
        let name = name_at_end(text.trim_end_matches(is_quote));
        return (!name.is_empty()).then(|| format!("header `{name}`"));
    }
    if word.contains("://") {
        return Some("part of the address".to_owned());
    }
    let option = near.strip_suffix(' ').and_then(|text| text.split_whitespace().next_back());
    option.filter(|option| option.starts_with('-')).map(|option| format!("option `{option}`"))
}

/// A text without the word at its end that names the kind of a credential.
fn without_scheme(text: &str) -> &str {
    let ends_with = |scheme: &str| {
        let at = text.len().checked_sub(scheme.len()).filter(|at| text.is_char_boundary(*at));
        at.is_some_and(|at| {
            let before = text[..at].chars().next_back();
            let is_word = before.is_none_or(|letter| letter == ' ' || is_quote(letter));
            is_word && text[at..].eq_ignore_ascii_case(scheme)
        })
    };
    let scheme = SCHEMES.iter().find(|scheme| ends_with(scheme));
    scheme.map_or(text, |scheme| &text[..text.len() - scheme.len()])
}

/// The text after the last letter of a kind; all of it without one.
fn after_last(text: &str, is_of_kind: impl Fn(char) -> bool) -> &str {
    text.rsplit(is_of_kind).next().unwrap_or(text)
}

/// The place of a secret that is assigned to a name, by the text before the `=`.
fn place_of_value(text: &str) -> Option<String> {
    let name = name_at_end(text);
    let what = match text.strip_suffix(&name).and_then(|rest| rest.chars().next_back()) {
        _ if name.is_empty() => return None,
        Some('?' | '&' | ';') => "query parameter",
        Some('-') => {
            return Some(format!("option `{}`", after_last(text, |letter| !is_name(letter))));
        }
        _ => "value of",
    };
    Some(format!("{what} `{name}`"))
}

/// The name that a text ends with, without the dashes of an option.
fn name_at_end(text: &str) -> String {
    let start = text
        .rfind(|letter: char| !is_name(letter))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    text[start..].trim_start_matches('-').to_owned()
}

fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`' | '\\')
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '[' | ']')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::note::HIDDEN;
    use super::*;

    const KEY: &str = "FAKEx1y2z3a4b5c6d7e8";

    #[test]
    fn a_note_says_how_long_a_secret_is_and_where_it_stands() {
        let redactor = Redactor::new(["our-own-secret"]);
        for (text, noted) in [
            (
                format!("https://a.example/x?q=1&token={KEY}&z=2"),
                "https://a.example/x?q=1&token=[hidden: 20 characters, query parameter `token`]&z=2",
            ),
            (
                format!("GET /\nX-Api-Key: {KEY}\n"),
                "GET /\nX-Api-Key: [hidden: 20 characters, header `X-Api-Key`]\n",
            ),
            ("echo our-own-secret".to_owned(), "echo [hidden: 14 characters]"),
            ("nothing here".to_owned(), "nothing here"),
            ("a\u{a0}b our-own-secret".to_owned(), "a\u{a0}b [hidden: 14 characters]"),
            ("a\u{a0}our-own-secret".to_owned(), "a\u{a0}[hidden: 14 characters]"),
            ("…--token=our-own-secret".to_owned(), "…--token=[hidden: 14 characters, option `--token`]"),
            (
                "https://ada:our-own-secret@a.example/".to_owned(),
                "https://ada:[hidden: 14 characters, password in the address]@a.example/",
            ),
            (
                "https://a.example/our-own-secret/x".to_owned(),
                "https://a.example/[hidden: 14 characters, part of the address]/x",
            ),
        ] {
            assert_eq!(redactor.noted(&text), noted);
        }
        let mut command = json!({"cmd": format!(
            "PGPASSWORD=hunter2 psql; curl --token our-own-secret \
             -H 'Authorization: Bearer {KEY}'"
        )});
        redactor.note_command(&mut command);
        assert_eq!(
            command["cmd"],
            "PGPASSWORD=[hidden: 7 characters, value of `PGPASSWORD`] psql; \
             curl --token [hidden: 14 characters, \
             option `--token`] -H 'Authorization: Bearer [hidden: 20 characters, header `Authorization`]'"
        );
    }

    #[test]
    fn what_is_noted_is_what_is_redacted() {
        let redactor = Redactor::new(["our-own-secret"]);
        for text in [
            format!("a our-own-secret b our-own-secret {KEY}"),
            format!("password='{KEY}' and token={KEY}&x=our-own-secret"),
            "export API_KEY='our-own-secret-and-more'".to_owned(),
        ] {
            let noted = redactor.noted(&text);
            assert!(!noted.contains(KEY) || redactor.redact(&text).contains(KEY), "{noted}");
            assert!(!noted.contains("our-own"), "{noted}");
            let hidden = redactor.redact(&text).matches(PLACEHOLDER).count();
            assert_eq!(noted.matches(HIDDEN).count(), hidden, "{noted}");
        }
    }
}
