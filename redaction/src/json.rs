//! Redaction of JSON values: strings at any depth, and everything under a key that names a secret.

use serde_json::{Map, Value};

use super::note::{HIDDEN, note};
use super::{PLACEHOLDER, Redactor, assignments};

/// The most bytes of texts that are searched together: more are not worth their copy.
const MOST_TOGETHER: usize = 16 << 10;

/// Redacts a value in place; true when something was replaced.
pub(super) fn redact(redactor: &Redactor, value: &mut Value) -> bool {
    // One search through many texts takes less than one for each, and mostly nothing is found.
    let mut texts = String::new();
    let is_clean = gather(value, &mut texts) && !redactor.may_redact(&texts);
    !is_clean && redact_each(redactor, value)
}

/// Adds all texts of a value, keys included, a line each. False if they are too long.
fn gather(value: &Value, texts: &mut String) -> bool {
    let mut add = |text: &str| {
        let fits = texts.len() + text.len() < MOST_TOGETHER;
        if fits {
            texts.extend([text, "\n"]);
        }
        fits
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => add(text),
        Value::Array(items) => items.iter().all(|item| gather(item, texts)),
        Value::Object(fields) => {
            fields.keys().all(|key| add(key)) && fields.values().all(|value| gather(value, texts))
        }
    }
}

/// The same for a value that has been found to need it.
pub(super) fn redact_each(redactor: &Redactor, value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => redactor.redact_text(text),
        Value::Array(items) => each(items, |item| redact_each(redactor, item)),
        Value::Object(fields) => redact_fields(redactor, fields),
    }
}

/// Applies a change to every item; true when one of them changed.
fn each(items: &mut [Value], change: impl Fn(&mut Value) -> bool) -> bool {
    items.iter_mut().fold(false, |changed, item| change(item) | changed)
}

fn redact_fields(redactor: &Redactor, fields: &mut Map<String, Value>) -> bool {
    let mut changed = pair(fields).is_some_and(|(name, value)| redact_under(&name, value));
    for (key, value) in fields.iter_mut() {
        changed |= redact_under(key, value);
        changed |= redact_each(redactor, value);
    }
    redact_keys(redactor, fields) || changed
}

/// The name and the value of `{"name": "API_KEY", "value": "…"}`, as in lists of variables.
fn pair(fields: &mut Map<String, Value>) -> Option<(String, &mut Value)> {
    let name = fields.get("name").or_else(|| fields.get("key"))?.as_str()?.to_owned();
    Some((name, fields.get_mut("value")?))
}

/// Replaces a string, or the strings of a list, under a key that names a secret.
fn redact_under(key: &str, value: &mut Value) -> bool {
    match value {
        Value::String(text) if assignments::is_secret_under(key, text) => {
            *text = PLACEHOLDER.to_owned();
            true
        }
        Value::Array(items) => each(items, |item| redact_under(key, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

/// Puts a note in place of each secret, as [`redact_fields`] finds them.
pub(super) fn note_fields(redactor: &Redactor, fields: &mut Map<String, Value>) {
    if let Some((name, value)) = pair(fields) {
        note_under(&name, value);
    }
    for (key, value) in fields.iter_mut() {
        if !note_under(key, value) {
            redactor.note_value(value);
        }
    }
    redact_keys(redactor, fields);
}

/// True where all of it was a secret.
fn note_under(key: &str, value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.starts_with(HIDDEN) => true,
        Value::String(text) if assignments::is_secret_under(key, text) => {
            *text = note(text, Some(format!("`{key}`")));
            true
        }
        Value::Array(items) => each(items, |item| note_under(key, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

/// A key can be a secret itself, for example a file name. The fields keep their order.
fn redact_keys(redactor: &Redactor, fields: &mut Map<String, Value>) -> bool {
    if fields.keys().all(|key| matches!(redactor.redact(key), std::borrow::Cow::Borrowed(_))) {
        return false;
    }
    let old = std::mem::take(fields);
    fields.extend(old.into_iter().map(|(key, value)| (redactor.redact(&key).into_owned(), value)));
    true
}
