//! Why a setting cannot be used: one type for variables and configuration files, because both stop a start.

use crate::config_file::ConfigFileError;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SettingError {
    #[error("{name}={value:?}: expected {expected}")]
    Value { name: String, value: String, expected: String },
    /// The value is left out: it may be a secret.
    #[error(
        "{name} is not a variable of Autonous. Did you mean {meant}? docs/reference.md lists all of them"
    )]
    Unknown { name: String, meant: &'static str },
    #[error(transparent)]
    File(#[from] ConfigFileError),
}

impl SettingError {
    /// An error that names the variable, its value, and what was expected. A row has `refuse` for it, which
    /// hides the value of a secret.
    pub fn new(name: &str, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value { name: name.to_owned(), value: value.into(), expected: expected.into() }
    }
}

/// Whether a program ends because of an invalid setting, for its exit code.
pub fn is_bad_setting(error: &anyhow::Error) -> bool {
    error.downcast_ref::<SettingError>().is_some() || error.downcast_ref::<ConfigFileError>().is_some()
}
