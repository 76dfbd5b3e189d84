//! Characters that steer a terminal, hide text or reorder it, as visible escapes.
//!
//! Text from files, programs and models reaches people and models only with these escaped as `\u{1b}`: what
//! is shown is what is there. Newlines and tabs are content and stay, and so do what joins letters of scripts
//! that need it and what makes an emoji of a symbol. In JSON the escape is JSON's own, which loses nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::Data;

/// The remark where something was escaped.
pub const NOTICE: &str =
    "Control and invisible characters are shown escaped, such as \\u{1b} for an escape character.";

/// The remark where a shown line may be edited.
pub const EDIT_NOTICE: &str =
    "To edit such a line, give `edit` the characters themselves (in JSON \\u001b), not the escapes.";

/// How many bytes the search for ordinary text looks at together.
const BLOCK: usize = 64;

/// The text with what steers, hides or reorders escaped; borrowed when it has nothing of the kind.
pub fn escaped(text: &str) -> Cow<'_, str> {
    rewritten(text, |clean, character| {
        let _ = write!(clean, "\\u{{{:x}}}", u32::from(character));
    })
}

/// Escapes a text in place; true when there was something to escape.
pub fn escape(text: &mut String) -> bool {
    let Cow::Owned(clean) = escaped(text) else { return false };
    *text = clean;
    true
}

/// Escapes every string of a JSON value, names of fields included; true when there was something to escape.
pub fn escape_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => escape(text),
        Value::Array(items) => items.iter_mut().fold(false, |found, item| escape_value(item) | found),
        Value::Object(fields) => {
            let found = fields.values_mut().fold(false, |found, field| escape_value(field) | found);
            if fields.keys().all(|name| matches!(escaped(name), Cow::Borrowed(_))) {
                return found;
            }
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(name, field)| (escaped(&name).into_owned(), field)));
            true
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The same for the data of a call.
pub fn escape_data(data: &mut Data) -> bool {
    let is_plain = data.plain_text().is_some_and(|text| matches!(escaped(text), Cow::Borrowed(_)));
    !is_plain && data.change(escape_value)
}

/// Serialised JSON with JSON's own escapes for what a terminal would obey or hide: the same document.
pub fn json(document: &str) -> Cow<'_, str> {
    rewritten(document, |clean, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(clean, "\\u{unit:04x}");
        }
    })
}

/// A text with its escapes of the form `\u{1b}` read back; none if it has none.
pub fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split("\\u{");
    let mut read = parts.next().unwrap_or_default().to_owned();
    let mut found = false;
    for part in parts {
        let escape = part.split_once('}').and_then(|(digits, after)| {
            Some((u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?, after))
        });
        match escape {
            Some((character, after)) => {
                read.push(character);
                read.push_str(after);
                found = true;
            }
            None => read.extend(["\\u{", part]),
        }
    }
    found.then_some(read)
}

/// Whether a character must not be shown as it is between its neighbours.
pub fn must_escape(before: Option<char>, character: char, after: Option<char>) -> bool {
    match character {
        '\n' | '\t' => false,
        '\r' => after != Some('\n'),
        // Persian, Indic scripts and emoji need joiners between letters.
        '\u{200c}' | '\u{200d}' => !before.is_some_and(is_joined) || !after.is_some_and(is_joined),
        // The colour of an emoji, such as that of a heart or of a keycap's digit.
        '\u{fe0e}' | '\u{fe0f}' => {
            !before.is_some_and(|before| is_visible(before) || matches!(before, '0'..='9' | '#' | '*'))
        }
        _ => character.is_control() || is_invisible(character),
    }
}

/// What may stand beside a joiner.
fn is_joined(character: char) -> bool {
    is_visible(character) || character == '\u{fe0f}'
}

fn is_visible(character: char) -> bool {
    !character.is_ascii() && !character.is_control() && !character.is_whitespace() && !is_invisible(character)
}

/// Unicode's `Default_Ignorable_Code_Point` and `Bidi_Control`, the separators of lines and paragraphs, and
/// the marks of interlinear annotations.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn rewritten(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if is_plain(text) || places(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + text.len() / 8);
    let mut copied = 0;
    for (at, character) in places(text) {
        clean.push_str(&text[copied..at]);
        escape(&mut clean, character);
        copied = at + character.len_utf8();
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Whether a text is printable ASCII, tabs and newlines, in blocks that a processor compares at once.
fn is_plain(text: &str) -> bool {
    let is_odd = |byte: &u8| !matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    text.as_bytes().chunks(BLOCK).all(|block| !block.iter().fold(false, |odd, byte| odd | is_odd(byte)))
}

/// The characters to escape, with their places.
fn places(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut before = None;
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, character) = characters.next()?;
            let after = characters.peek().map(|(_, after)| *after);
            let place = must_escape(before, character, after).then_some((at, character));
            before = Some(character);
            if place.is_some() {
                return place;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_steers_hides_or_reorders_is_escaped_and_content_stays() {
        for (text, shown) in [
            ("plain\ttext\nnext\r\n", "plain\ttext\nnext\r\n"),
            ("größer – 日本語 עברית", "größer – 日本語 עברית"),
            ("\u{1b}[31mred\u{7}\u{8}\u{7f}\u{9b}", "\\u{1b}[31mred\\u{7}\\u{8}\\u{7f}\\u{9b}"),
            ("all fine\rno", "all fine\\u{d}no"),
            ("\u{202e}gpj.exe\u{2066}", "\\u{202e}gpj.exe\\u{2066}"),
            ("a\u{200b}b\u{200d}c\u{feff}\u{ad}\u{34f}", "a\\u{200b}b\\u{200d}c\\u{feff}\\u{ad}\\u{34f}"),
            ("a\u{2028}b\u{85}c\u{e0041}", "a\\u{2028}b\\u{85}c\\u{e0041}"),
            (
                "می\u{200c}خواهم 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
                "می\u{200c}خواهم 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            ),
            (
                "❤\u{fe0f}\u{fe0f} a\u{fe0f} é\u{200d}\u{200d}é",
                "❤\u{fe0f}\\u{fe0f} a\\u{fe0f} é\\u{200d}\\u{200d}é",
            ),
        ] {
            assert_eq!(escaped(text), shown);
            assert_eq!(escaped(shown), shown, "escaping twice");
            assert_eq!(unescaped(shown).unwrap_or_else(|| shown.to_owned()), text);
            for mut data in [Data::of(&json!({"a": text})), json!({"a": text}).into()] {
                assert_eq!(escape_data(&mut data), text != shown, "{text:?}");
                assert_eq!(*data, json!({"a": shown}));
            }
        }
    }

    #[test]
    fn what_is_no_escape_is_read_as_it_stands() {
        for text in ["", "\\u{", "\\u{110000}", "\\u{zz} \\u0041", "plain"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
        assert_eq!(unescaped("\\u{zz}\\u{1b}").as_deref(), Some("\\u{zz}\u{1b}"));
    }

    #[test]
    fn json_is_escaped_in_every_string_or_by_json_itself() {
        let mut value = json!({"a\u{202e}": ["\u{1b}", {"b": "\u{e0041}"}], "c": 1});
        let document = value.to_string();
        let clean = json(&document);
        assert!(clean.contains("\\u202e") && clean.contains("\\udb40\\udc41") && clean.is_ascii(), "{clean}");
        assert_eq!(serde_json::from_str::<Value>(&clean).unwrap(), value);
        assert!(escape_value(&mut value) && !escape_value(&mut value.clone()));
        assert_eq!(value, json!({"a\\u{202e}": ["\\u{1b}", {"b": "\\u{e0041}"}], "c": 1}));
    }
}
