//! The result of a call as data, which is mostly only passed on.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A JSON value, by default an empty object. One that was made from a type stays text until somebody looks
/// into it: to build a tree of values, search that and write it takes longer than many tools do.
#[derive(Clone)]
pub struct Data {
    /// The value as text without any escape, so that each string stands in it as it is.
    text: Option<Box<RawValue>>,
    /// The value, once somebody has asked for it. Always set without a text.
    value: OnceLock<Value>,
}

impl Data {
    /// The value of a type. One that JSON cannot have, and null, becomes an empty object.
    pub fn of(value: &impl Serialize) -> Self {
        match to_raw_value(value) {
            Ok(text) if text.get() == "null" => Self::default(),
            Ok(text) if !text.get().contains('\\') => Self { text: Some(text), value: OnceLock::new() },
            Ok(_) | Err(_) => serde_json::to_value(value).map(Self::from).unwrap_or_default(),
        }
    }

    /// The value as JSON in which every string stands as it is, if it is kept like that.
    pub fn plain_text(&self) -> Option<&str> {
        self.text.as_deref().map(RawValue::get)
    }

    /// A field of the object; none if it has no such field, or is no object.
    pub fn get(&self, field: &str) -> Option<&Value> {
        let is_possible = self.plain_text().is_none_or(|text| text.contains(field));
        if is_possible { self.value().get(field) } else { None }
    }

    /// Changes the value.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Value) -> T) -> T {
        let mut value = match self.value.take() {
            Some(value) => value,
            None => self.read(),
        };
        let changed = change(&mut value);
        *self = value.into();
        changed
    }

    fn value(&self) -> &Value {
        self.value.get_or_init(|| self.read())
    }

    fn read(&self) -> Value {
        self.plain_text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl Default for Data {
    fn default() -> Self {
        Value::Object(serde_json::Map::new()).into()
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self { text: None, value: value.into() }
    }
}

impl Deref for Data {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.value(), f)
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.value(), f)
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            Some(text) => text.serialize(serializer),
            None => self.value().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Data {
    fn inline_schema() -> bool {
        Value::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Named<'a> {
        name: &'a str,
        lines: u64,
    }

    #[test]
    fn data_is_kept_as_text_only_if_each_string_stands_in_it_as_it_is() {
        let check = |name: &str, plain: bool| {
            let data = Data::of(&Named { name, lines: 2 });
            assert_eq!(data.plain_text().is_some(), plain, "{name:?}");
            assert_eq!(data.plain_text().is_some_and(|text| text.contains(name)), plain);
            assert_eq!(*data, json!({"name": name, "lines": 2}));
            assert_eq!(serde_json::to_value(&data).unwrap(), *data);
            assert_eq!(serde_json::from_str::<Data>(&serde_json::to_string(&data).unwrap()).unwrap(), data);
        };
        for plain in ["a", "", "é 漢字 😀", "\u{202e}", "\u{7f}", "it's </b> &amp;"] {
            check(plain, true);
        }
        for escaped in ["\"", "a\\b", "a\nb", "\t", "\u{1b}[2J", "\0"] {
            check(escaped, false);
        }
    }

    #[test]
    fn a_field_is_found_in_both_forms_and_a_change_holds() {
        for mut data in [Data::of(&Named { name: "lines", lines: 2 }), json!({"lines": 2}).into()] {
            assert_eq!(data.get("lines"), Some(&json!(2)));
            assert_eq!(data["lines"], 2);
            assert_eq!((data.get("line"), data.get("other")), (None, None));
            assert!(data.change(|value| {
                value["lines"] = json!(3);
                true
            }));
            assert_eq!((data.plain_text(), data.get("lines")), (None, Some(&json!(3))));
        }
    }

    #[test]
    fn no_value_is_an_empty_object() {
        struct Broken;
        impl Serialize for Broken {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("broken"))
            }
        }
        for data in [Data::of(&()), Data::of(&Value::Null), Data::of(&Broken), Data::default()] {
            assert_eq!(serde_json::to_string(&data).unwrap(), "{}");
        }
    }
}
