//! Fills the placeholders in a case with values of the running server.

use serde_json::Value;

use crate::ToolServer;

/// The server's token, with characters that URLs and JSON may escape.
pub(super) const TOKEN: &str = "FAKE-corpus/token+0123456789";

#[derive(Debug, Clone)]
pub(super) struct Placeholders {
    values: Vec<(&'static str, String)>,
}

impl Placeholders {
    pub(super) fn of(server: &mut ToolServer) -> Self {
        let outside = server.dir().outside();
        let outside_name = outside.file_name().expect("it has a name").to_string_lossy().into_owned();
        let values = vec![
            ("{ROOT}", server.root().display().to_string()),
            ("{OUTSIDE_NAME}", outside_name),
            ("{OUTSIDE}", outside.display().to_string()),
            ("{PORT}", server.address().port().to_string()),
            ("{SERVER_PID}", server.program().pid().to_string()),
            ("{TOKEN}", TOKEN.to_owned()),
            // The server knows its token and redacts it, so the canary shows what commands can see.
            ("{SERVER_SECRET}", TOKEN.to_owned()),
            ("{SERVER_SECRET_HEX}", TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect()),
            ("{SERVER_SECRET_URLENCODED}", TOKEN.replace('/', "%2F").replace('+', "%2B")),
            ("{SERVER_SECRET_JSON_ESCAPED}", TOKEN.replace('/', "\\/")),
        ];
        Self { values }
    }

    #[must_use]
    pub(super) fn with(self, mut values: Vec<(&'static str, String)>) -> Self {
        // The first value of a name is used.
        values.extend(self.values);
        Self { values }
    }

    /// The text with every placeholder filled in; an unknown placeholder is an error.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let filled =
            self.values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        match unknown_in(&filled) {
            Some(name) => Err(format!("unknown placeholder {name}")),
            None => Ok(filled),
        }
    }

    pub(super) fn fill_value(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let filled = fields.iter().map(|(name, value)| Ok((name.clone(), self.fill_value(value)?)));
                Value::Object(filled.collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }
}

/// A word of capitals in braces.
fn unknown_in(text: &str) -> Option<&str> {
    text.match_indices('{').find_map(|(start, _)| {
        let rest = &text[start..];
        let end = rest.find('}')?;
        let name = &rest[1..end];
        let is_name = name.len() > 2 && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        is_name.then_some(&rest[..=end])
    })
}
