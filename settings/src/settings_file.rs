//! Reads `autonous.toml`: everything that has a variable, in sections.
//!
//! A value becomes the text that its variable would have, so that one table judges both. A secret never
//! stands in the file: `token_file` names the file that holds it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use crate::config_file::{ConfigFile, ConfigFileError};
use crate::place::{Meaning, meaning, nearest, nearest_section, sections, wrong_value};
use crate::row::{Form, Row};
use crate::source::{FILE_ENDING, Source};

/// The file's name.
pub const SETTINGS_FILE: &str = "autonous.toml";

/// A file with settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    path: PathBuf,
    settings: Vec<FileSetting>,
}

/// A setting in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSetting {
    /// The variable that it stands for.
    pub variable: String,
    /// The text that the variable would have.
    pub value: String,
    /// From 1.
    pub line: usize,
}

impl SettingsFile {
    /// Reads a file; none if it does not exist.
    ///
    /// # Errors
    /// With file, line and the nearest right name: invalid TOML, an unknown section or key, a value that its
    /// setting does not allow, a secret.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigFileError> {
        ConfigFile::read(path)?.as_ref().map(Self::of).transpose()
    }

    /// Reads the text of a file that is to be written.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of_text(path: &Path, text: &str) -> Result<Self, ConfigFileError> {
        Self::of(&ConfigFile::of_text(path, text))
    }

    fn of(file: &ConfigFile) -> Result<Self, ConfigFileError> {
        let mut settings = Vec::new();
        for (name, section) in file.table()?.get_ref() {
            let table = match section.get_ref() {
                DeValue::Table(table) if sections().any(|known| known == name.get_ref()) => table,
                other => return Err(file.error(Some(name.span()), no_section(name.get_ref(), other))),
            };
            for (key, value) in table {
                settings.push(setting(file, name.get_ref(), key, value)?);
            }
        }
        Ok(Self { path: file.path().to_owned(), settings })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many settings it has.
    pub fn count(&self) -> usize {
        self.settings.len()
    }

    pub(crate) fn settings(&self) -> &[FileSetting] {
        &self.settings
    }

    /// A setting's value, as its variable would have it.
    pub fn value(&self, variable: &str) -> Option<&str> {
        self.setting(variable).map(|setting| setting.value.as_str())
    }

    pub(crate) fn setting(&self, variable: &str) -> Option<&FileSetting> {
        self.settings.iter().find(|setting| setting.variable == variable)
    }

    /// An error about one of its settings.
    pub(crate) fn error(&self, setting: &FileSetting, what: impl Into<String>) -> ConfigFileError {
        ConfigFileError::at(&self.path, setting.line, what)
    }
}

fn no_section(name: &str, value: &DeValue<'_>) -> String {
    if sections().any(|section| section == name) {
        return format!("`{name}` is a section: write `[{name}]`, and its keys below it");
    }
    if matches!(value, DeValue::Table(_) | DeValue::Array(_)) {
        let all: Vec<String> = sections().map(|section| format!("[{section}]")).collect();
        let meant = nearest_section(name);
        return format!("[{name}] is no section. Did you mean [{meant}]? There are {}", all.join(", "));
    }
    let meant = nearest("", name);
    format!("`{name}` stands in no section. Did you mean `{}` below `[{}]`?", meant.key, meant.section)
}

fn setting(
    file: &ConfigFile,
    section: &str,
    key: &Spanned<Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) -> Result<FileSetting, ConfigFileError> {
    let wrong = |what: String| file.error(Some(key.span()), what);
    let name = key.get_ref();
    let (row, variable) = match meaning(section, name) {
        Some(Meaning::Value(row)) if row.is_secret() => {
            return Err(wrong(format!(
                "`{name}` is a secret, which this file must not hold: write it into a file that its owner \
                 alone can read, and `{name}_file = \"/path/of/that/file\"` here"
            )));
        }
        Some(Meaning::Value(row)) => (row, row.name().to_owned()),
        Some(Meaning::SecretFile(row)) => (row, format!("{}{FILE_ENDING}", row.name())),
        None => {
            let meant = nearest(section, name);
            let below = if meant.section == section { "" } else { &format!(" below [{}]", meant.section) };
            return Err(wrong(format!(
                "[{section}] has no setting `{name}`. Did you mean `{}`{below}?",
                meant.key
            )));
        }
    };
    let value = text(row, value).map_err(|expected| wrong(format!("`{name}`: expected {expected}")))?;
    let setting = FileSetting { variable, value, line: file.line(key.span().start) };
    if !row.is_secret() {
        row.check(&Source::from_pairs([(row.name(), setting.value.as_str())]))
            .map_err(|_| wrong(wrong_value(row.name(), &setting.value, &row.expected())))?;
    }
    Ok(setting)
}

/// The text that a variable would have, or what is expected instead.
fn text(row: &dyn Row, value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    let expected = row.expected();
    match (row.form(), value.get_ref()) {
        (Form::List, DeValue::Array(items)) => {
            let items: Result<Vec<String>, String> =
                items.iter().map(|item| list_item(item.get_ref())).collect();
            Ok(items?.join(","))
        }
        (Form::List, _) => Err(format!("a list such as [\"a\", \"b\"] of {expected}")),
        (Form::Number, DeValue::Integer(number)) => Ok(digits(number).ok_or(expected)?),
        (Form::Number, DeValue::String(_)) => Err(format!("{expected}, without quotes")),
        (Form::Flag, DeValue::Boolean(flag)) => Ok(flag.to_string()),
        (Form::Flag, DeValue::String(_)) => Err(format!("{expected}, without quotes")),
        (Form::Secret, DeValue::String(path)) => Ok(path.to_string()),
        (Form::Secret, _) => Err("the path of a file, in quotes".to_owned()),
        (Form::Text, DeValue::String(text)) => Ok(text.to_string()),
        (Form::Text, DeValue::Integer(number)) => Ok(digits(number).ok_or(expected)?),
        (Form::Text, DeValue::Float(number)) => Ok(number.as_str().to_owned()),
        (Form::Text, table @ DeValue::Table(_)) => Ok(json(table).to_string()),
        (Form::Text, _) => Err(format!("{expected}, in quotes")),
        (Form::Number | Form::Flag, _) => Err(expected),
    }
}

fn list_item(item: &DeValue<'_>) -> Result<String, String> {
    let text = match item {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => digits(number).ok_or("smaller numbers")?,
        _ => return Err("items that are texts in quotes, or whole numbers".to_owned()),
    };
    if text.contains(',') { Err(format!("{text:?} as two items: none has a comma")) } else { Ok(text) }
}

fn digits(number: &DeInteger<'_>) -> Option<String> {
    i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
}

/// The settings that are JSON in a variable are tables in a file.
fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Integer(number) => {
            digits(number).and_then(|number| number.parse::<i64>().ok()).map_or(Json::Null, Json::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Boolean(flag) => Json::Bool(*flag),
        DeValue::Datetime(time) => Json::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let field = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                (key.get_ref().to_string(), json(value.get_ref()))
            };
            Json::Object(table.iter().map(field).collect())
        }
    }
}
