//! Reads the updates of a response, each by itself: one that cannot be read must not hold up the others.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use teloxide::types::{Update, UpdateKind};

/// An update, or the readable part of one that cannot be parsed.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) id: i64,
    pub(super) update: Option<Update>,
}

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

/// The updates of a response. One without a number is left out, because it cannot be confirmed; the next one
/// confirms it.
pub(super) fn read(updates: &[Box<RawValue>]) -> Vec<Received> {
    let read = |raw: &RawValue| match serde_json::from_str::<Numbered>(raw.get()) {
        Ok(Numbered { update_id: id }) => Some(Received { id, update: update(raw.get()) }),
        Err(error) => {
            tracing::error!(%error, "Telegram sent an update without a number; it is left out");
            None
        }
    };
    updates.iter().filter_map(|raw| read(raw)).collect()
}

fn update(json: &str) -> Option<Update> {
    let mut value: Value = serde_json::from_str(&with_whole_characters(json)).ok()?;
    // The client's type has 32 bits for it, and we have read it already.
    value["update_id"] = 0.into();
    for kind in ["message", "edited_message"] {
        if let Some(message) = value.get_mut(kind) {
            with_media_types(message);
        }
    }
    // The client reads an update from text alone: of a value, it loses the first field.
    let update: Update = serde_json::from_str(&value.to_string()).ok()?;
    (!matches!(update.kind, UpdateKind::Error(_))).then_some(update)
}

/// Telegram may leave out what type a file has, or say something else than a type, and the client reads no
/// such message.
fn with_media_types(message: &mut Value) {
    const DEFAULTS: [(&str, &str); 5] = [
        ("video", "video/mp4"),
        ("animation", "video/mp4"),
        ("audio", "audio/mpeg"),
        ("voice", "audio/ogg"),
        ("document", "application/octet-stream"),
    ];
    let is_type = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        let parts: Vec<&str> = text.split(';').next().unwrap_or_default().trim().split('/').collect();
        parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && part.chars().all(is_plain))
    };
    for (field, default) in DEFAULTS {
        let Some(file) = message.get_mut(field).and_then(Value::as_object_mut) else { continue };
        if !file.get("mime_type").and_then(Value::as_str).is_some_and(is_type) {
            file.insert("mime_type".to_owned(), default.into());
        }
    }
    if let Some(replied) = message.get_mut("reply_to_message") {
        with_media_types(replied);
    }
}

/// Replaces each escaped half of a character without its other half, which no string can hold: `\ud83d`
/// alone becomes `\ufffd`.
fn with_whole_characters(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let length = match (half(escape), escape.get(6..).and_then(half)) {
            (Some(Half::First), Some(Half::Second)) => 12,
            (Some(_), _) => {
                whole.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            // The escaped character may itself be a backslash.
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        whole.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    whole.push_str(rest);
    whole
}

enum Half {
    First,
    Second,
}

/// Which half of a character an escape stands for, if it is at the start of this text.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_no_type_or_of_none_that_is_one_is_read() {
        for field in ["video", "animation", "audio", "voice", "document"] {
            for media_type in [None, Some(""), Some("video"), Some("a/b/c"), Some("vidéo/mp4")] {
                let mut file = serde_json::json!({
                    "file_id": "f", "file_unique_id": "u", "duration": 1, "width": 1, "height": 1,
                });
                if let Some(media_type) = media_type {
                    file["mime_type"] = media_type.into();
                }
                let chat = serde_json::json!({"id": 7, "type": "private", "first_name": "A"});
                let mut message =
                    serde_json::json!({"message_id": 1, "date": 1, "chat": chat, "text": "what is it?"});
                message["reply_to_message"] =
                    serde_json::json!({"message_id": 1, "date": 1, "chat": chat, field: file});
                let replied = message["reply_to_message"].clone();
                for message in [replied, message] {
                    let raw = serde_json::json!({"update_id": 1, "message": message}).to_string();
                    let update = update(&raw).unwrap();
                    let UpdateKind::Message(read) = &update.kind else { panic!("{update:?}") };
                    let read = read.reply_to_message().unwrap_or(read);
                    let found = read.video().is_some()
                        || read.animation().is_some()
                        || read.audio().is_some()
                        || read.voice().is_some()
                        || read.document().is_some();
                    assert!(found, "{field} of type {media_type:?}: {read:?}");
                }
            }
        }
    }

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay() {
        for (json, expected) in [
            (r#""plain ä 😀""#, "plain ä 😀"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00 and \uD83Dx""#, "\u{fffd} and \u{fffd}x"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d\n\"""#, "\\\u{fffd}\n\""),
        ] {
            assert_eq!(serde_json::from_str::<String>(&with_whole_characters(json)).unwrap(), expected);
        }
        // Text that is not JSON stays text.
        for broken in ["\\", "\\u", "\\ud8", "\\ud83", "ä\\"] {
            assert_eq!(with_whole_characters(broken), broken);
        }
    }
}
