//! What a source has of `autonous.toml`, and where each value comes from.

use std::path::{Path, PathBuf};

use crate::config_file::ConfigFileError;
use crate::error::SettingError;
use crate::place::wrong_value;
use crate::row::Form;
use crate::settings_file::SettingsFile;
use crate::source::{FILE_ENDING, Source};
use crate::table;

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nothing sets it.
    Default,
    /// The variable of its name, or the one that names the file of a secret.
    Variable(String),
    /// This line, from 1, of this file.
    File(PathBuf, usize),
    /// A credential of systemd.
    Credential,
}

impl Source {
    /// Adds what a file sets and no variable does, if there is a file.
    #[must_use]
    pub fn with_file(mut self, file: Option<&SettingsFile>) -> Self {
        let Some(file) = file else { return self };
        self.file = Some(file.path().to_owned());
        for setting in file.settings() {
            if self.has_variable(&setting.variable) {
                continue;
            }
            self.lines.insert(setting.variable.clone(), setting.line);
            self.plain.insert(setting.variable.clone(), setting.value.clone());
        }
        self
    }

    /// Whether the environment sets this. The empty value of a list is an empty list.
    fn has_variable(&self, variable: &str) -> bool {
        let secret = variable.strip_suffix(FILE_ENDING);
        let row = table::row(variable);
        let is_list = row.is_some_and(|row| row.form() == Form::List);
        self.plain.get(variable).is_some_and(|value| is_list || !value.is_empty())
            || (row.is_none() && secret.is_some_and(|secret| self.secret(secret).is_some()))
    }

    /// The file that was read, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Where the value of a setting comes from.
    pub fn origin(&self, variable: &str) -> Origin {
        let secret_file = format!("{variable}{FILE_ENDING}");
        for name in [variable, &secret_file] {
            if let (Some(line), Some(file)) = (self.lines.get(name), &self.file) {
                return Origin::File(file.clone(), *line);
            }
            if self.plain.contains_key(name) || self.secret.contains_key(name) {
                return Origin::Variable(name.to_owned());
            }
        }
        if self.credential(variable).is_some() { Origin::Credential } else { Origin::Default }
    }

    /// The same error with the line of the file, where the value comes from there.
    pub fn located(&self, error: SettingError) -> SettingError {
        let SettingError::Value { name, value, expected } = &error else { return error };
        let (Some(line), Some(file)) = (self.lines.get(name), &self.file) else { return error };
        ConfigFileError::at(file, *line, wrong_value(name, value, expected)).into()
    }

    /// The same for an error of any kind.
    pub fn located_any(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<SettingError>() {
            Some(setting) => {
                let located = self.located(setting.clone());
                if located == *setting { error } else { located.into() }
            }
            None => error,
        }
    }
}
