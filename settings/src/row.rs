//! What all rows have, whatever type their values have: enough for documents, reports and children.

use std::fmt;

use crate::error::SettingError;
use crate::source::Source;

/// A program that reads settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Program {
    Supervisor,
    ToolServer,
    Worker,
}

/// What a child gets of a setting from the supervisor that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromSupervisor {
    /// Nothing.
    Nothing,
    /// What the supervisor's own source has.
    PassedOn,
    /// What the supervisor decides, whatever its source has.
    Decided,
}

/// Which programs read a setting.
#[derive(Debug, Clone, Copy)]
pub struct Readers {
    /// All of them; the docs list the setting with the first.
    pub programs: &'static [Program],
    /// What children get.
    pub children_get: FromSupervisor,
}

/// The value of a setting that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnset {
    /// This value, as a source would have it.
    Value(&'static str),
    /// What these words say.
    Words(&'static str),
}

/// How a value is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A text in quotes; a number or a table stands for itself.
    Text,
    /// A list.
    List,
    /// Not at all: the path of a file with the value.
    Secret,
}

impl Form {
    /// A value as a file has it, from the text that its variable would have.
    pub fn literal(self, value: &str) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        match self {
            Self::Number | Self::Flag => value.trim().to_owned(),
            Self::Text | Self::Secret => quoted(value),
            Self::List => {
                let items: Vec<String> = Source::items(value).iter().map(|item| quoted(item)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

/// A row of the table.
pub trait Row: fmt::Debug {
    /// The variable.
    fn name(&self) -> &'static str;
    /// What holds when it is not set.
    fn default(&self) -> WhenUnset;
    /// In words, what a value must be.
    fn expected(&self) -> String;
    /// How a value is written in a file.
    fn form(&self) -> Form;
    /// Whether its value is never shown.
    fn is_secret(&self) -> bool;
    /// Which programs read it.
    fn readers(&self) -> Readers;
    /// What it means, in Markdown for docs/reference.md.
    fn meaning(&self) -> &'static str;
    /// Whether its value, if it is set, is valid by itself.
    ///
    /// # Errors
    /// With the expected values.
    fn check(&self, source: &Source) -> Result<(), SettingError>;
    /// The value that holds, for people to read: in its plainest form, without what may be private.
    fn shown(&self, source: &Source) -> Option<String>;
}

impl dyn Row {
    /// Whether this program reads it.
    pub fn is_read_by(&self, program: Program) -> bool {
        self.readers().programs.contains(&program)
    }

    /// Whether the supervisor passes it on to this child.
    pub fn is_passed_to(&self, child: Program) -> bool {
        self.is_read_by(child) && self.readers().children_get == FromSupervisor::PassedOn
    }
}
