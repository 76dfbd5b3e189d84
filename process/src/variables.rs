//! Reads settings from the environment.
//!
//! A value that does not parse stops the start, with an error that names the variable, the value and what
//! was expected; nothing silently falls back to a default. An empty value counts as unset. A secret comes
//! from the descriptor of [`crate::secrets`], else from a variable, else from the file that a variable names.

use std::collections::HashMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::str::FromStr;

use crate::known_variables::{self, FILE_ENDING, PREFIX};
use crate::secrets::{self, Secret, SecretsError};

/// The longest file with a secret.
const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum VariableError {
    #[error("{name}={value:?}: expected {expected}")]
    Value { name: String, value: String, expected: String },
    /// The value is left out: it may be a secret.
    #[error(
        "{name} is not a variable of Autonous. Did you mean {meant}? docs/operations.md lists all of them"
    )]
    Unknown { name: String, meant: &'static str },
}

impl VariableError {
    /// An error that names the variable, its value, and what was expected.
    pub fn new(name: &str, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value { name: name.to_owned(), value: value.into(), expected: expected.into() }
    }
}

/// The settings of this process: its environment, and its secrets.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    plain: HashMap<String, String>,
    secret: HashMap<String, Secret>,
}

impl Variables {
    /// Reads this process's environment and its secrets.
    ///
    /// Call [`secrets::leave_environment`] before.
    pub fn of_this_process() -> Result<Self, SecretsError> {
        Self::without_secrets().receive_secrets()
    }

    /// Reads only this process's environment, for what must be done before any secret is read.
    pub fn without_secrets() -> Self {
        let plain = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
            })
            .collect();
        Self { plain, secret: HashMap::new() }
    }

    /// Adds the secrets.
    pub fn receive_secrets(self) -> Result<Self, SecretsError> {
        Ok(Self { secret: secrets::received()?, ..self })
    }

    /// Adds the secrets in a pipe.
    pub fn with_secrets_in(self, pipe: Option<OwnedFd>) -> Result<Self, SecretsError> {
        Ok(Self { secret: pipe.map(secrets::in_pipe).transpose()?.unwrap_or_default(), ..self })
    }

    /// Adds the secrets of this list that are in files.
    ///
    /// # Errors
    /// A secret that is given twice, and a file that is empty, too long, or cannot be read.
    pub fn with_secret_files(&self, names: &[impl AsRef<str>]) -> Result<Self, VariableError> {
        let mut more = self.clone();
        for name in names.iter().map(AsRef::as_ref) {
            let variable = format!("{name}{FILE_ENDING}");
            let Some(path) = self.text(&variable) else { continue };
            if self.secret(name).is_some() {
                return Err(VariableError::new(&variable, path, format!("nothing, because {name} is set")));
            }
            more.secret.insert(name.to_owned(), secret_in(&variable, path)?);
        }
        Ok(more)
    }

    /// Refuses a variable that begins like ours and that no program reads.
    pub fn refuse_unknown(&self) -> Result<(), VariableError> {
        let is_unknown = |name: &&String| name.starts_with(PREFIX) && !known_variables::is_known(name);
        match self.plain.keys().filter(is_unknown).min() {
            None => Ok(()),
            Some(name) => {
                Err(VariableError::Unknown { name: name.clone(), meant: known_variables::nearest(name) })
            }
        }
    }

    /// Settings from pairs, for tests and for programs that start others.
    pub fn from_pairs<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let plain = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { plain, secret: HashMap::new() }
    }

    /// The value of a variable; none if it is unset or empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.plain.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A secret from the descriptor or a variable; none if it is unset or empty.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        let received = self.secret.get(name).cloned();
        received.or_else(|| self.text(name).map(Secret::from)).filter(|secret| !secret.expose().is_empty())
    }

    /// A value with a default; `expected` says in words which values are valid.
    pub fn parsed<T: FromStr>(&self, name: &str, default: T, expected: &str) -> Result<T, VariableError> {
        match self.text(name) {
            None => Ok(default),
            Some(value) => value.trim().parse().map_err(|_| VariableError::new(name, value, expected)),
        }
    }

    /// A whole number in a range, with a default.
    pub fn number(
        &self,
        name: &str,
        default: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, VariableError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = self.parsed(name, default, &expected)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(VariableError::new(name, number.to_string(), expected))
        }
    }

    /// `true` or `false`, with a default.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, VariableError> {
        self.parsed(name, default, "true or false")
    }

    /// A comma-separated list; none if the variable is unset, and an empty list if it is empty.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        let value = self.plain.get(name)?;
        Some(value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }

    /// Those of `names` that are set, with their values, to pass them to a child.
    pub fn pass_on(&self, names: &[&str]) -> Vec<(String, String)> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.plain.get(*name)?.clone()))).collect()
    }
}

/// The secret in a file, without the newline that most editors add.
fn secret_in(variable: &str, path: &str) -> Result<Secret, VariableError> {
    let bad = |expected: String| VariableError::new(variable, path, expected);
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| bad(format!("a text file that can be read ({error})")))?;
    if text.len() as u64 > MAX_SECRET_BYTES {
        return Err(bad(format!("a file of at most {MAX_SECRET_BYTES} bytes")));
    }
    match text.trim() {
        "" => Err(bad("a file that holds the secret".to_owned())),
        secret => Ok(Secret::from(secret)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_value_names_the_variable_the_value_and_what_was_expected() {
        let variables = Variables::from_pairs([("AUTONOUS_X", "soon")]);
        let error = variables.number("AUTONOUS_X", 1, 1..=600).unwrap_err();
        assert_eq!(error.to_string(), "AUTONOUS_X=\"soon\": expected a whole number from 1 to 600");
    }

    #[test]
    fn an_unknown_variable_is_refused_by_its_name_alone() {
        let variables = Variables::from_pairs([("AUTONOUS_TELEGRAM_TOKN", "1:hunter2"), ("OTHER_X", "1")]);
        assert_eq!(
            variables.refuse_unknown().unwrap_err().to_string(),
            "AUTONOUS_TELEGRAM_TOKN is not a variable of Autonous. Did you mean AUTONOUS_TELEGRAM_TOKEN? \
             docs/operations.md lists all of them"
        );
        let known = [("AUTONOUS_TELEGRAM_TOKEN_FILE", "/x"), ("AUTONOUSX", "1"), ("HOME", "/")];
        assert_eq!(Variables::from_pairs(known).refuse_unknown(), Ok(()));
    }

    #[test]
    fn a_secret_can_be_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let name = "AUTONOUS_TOOL_TOKEN";
        let read = |more: &[(&str, &str)]| {
            let path = path.display().to_string();
            let mut variables = Variables::from_pairs([("AUTONOUS_TOOL_TOKEN_FILE", &path)]);
            let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            variables.plain.extend(more);
            let secret = variables.with_secret_files(&[name]).map(|variables| variables.secret(name));
            secret.map_err(|error| error.to_string())
        };
        assert!(read(&[]).unwrap_err().contains("expected a text file that can be read"));
        std::fs::write(&path, "hunter2\n").unwrap();
        assert!(read(&[]).unwrap().unwrap().matches("hunter2"));
        assert!(
            read(&[(name, "other")]).unwrap_err().contains("expected nothing, because AUTONOUS_TOOL_TOKEN")
        );
        for (content, expected) in
            [(" \n", "a file that holds the secret"), (&"x".repeat(20_000), "at most 16384")]
        {
            std::fs::write(&path, content).unwrap();
            assert!(read(&[]).unwrap_err().contains(expected));
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        let variables = Variables::from_pairs([("AUTONOUS_X", "601")]);
        assert!(variables.number("AUTONOUS_X", 1, 1..=600).is_err());
    }

    #[test]
    fn an_empty_value_is_the_default_and_an_empty_list_is_empty() {
        let variables = Variables::from_pairs([("AUTONOUS_X", "")]);
        assert_eq!(variables.number("AUTONOUS_X", 7, 1..=9), Ok(7));
        assert_eq!(variables.list("AUTONOUS_X"), Some(Vec::new()));
        assert_eq!(variables.list("AUTONOUS_Y"), None);
    }
}
