//! Where the values of settings come from: the environment, `autonous.toml`, and for secrets a descriptor and
//! files.
//!
//! It knows names and texts; the rows of [`crate::table`] know the valid values. An empty value counts as
//! unset. A variable wins over the file. A secret comes from the descriptor of [`process::secrets`], else
//! from a variable, else from the file that a variable or `autonous.toml` names, else from a credential of
//! systemd. What a source has of `autonous.toml` is in `origin.rs`.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use process::Secret;
use process::secrets::{self, SecretsError};

use crate::error::SettingError;

/// What the name of a secret ends in when it names the secret's file.
pub const FILE_ENDING: &str = "_FILE";

/// The variable that names systemd's directory of a service's credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The longest file with a secret.
const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// The settings of this process: its environment, its file, and its secrets.
#[derive(Debug, Clone, Default)]
pub struct Source {
    pub(crate) plain: HashMap<String, String>,
    pub(crate) secret: HashMap<String, Secret>,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// The lines of the variables whose values are those of the file.
    pub(crate) lines: BTreeMap<String, usize>,
}

impl Source {
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
        Self { plain, ..Self::default() }
    }

    /// The file of a credential that systemd has for this secret.
    pub(crate) fn credential(&self, name: &str) -> Option<String> {
        let path = Path::new(self.text(CREDENTIALS)?).join(name);
        path.is_file().then(|| path.display().to_string())
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
    pub fn with_secret_files(&self, names: &[impl AsRef<str>]) -> Result<Self, SettingError> {
        let mut more = self.clone();
        for name in names.iter().map(AsRef::as_ref) {
            let variable = format!("{name}{FILE_ENDING}");
            let (is_set, is_from_file) = (self.secret(name).is_some(), self.lines.contains_key(&variable));
            match (self.text(&variable).map(str::to_owned), self.credential(name)) {
                (Some(_), _) if is_set && is_from_file => {}
                (Some(path), _) if is_set => {
                    let expected = format!("nothing, because {name} is set");
                    return Err(SettingError::new(&variable, path, expected));
                }
                (None, _) if is_set => {}
                (Some(path), _) | (None, Some(path)) => {
                    more.secret.insert(name.to_owned(), secret_in(&variable, &path)?);
                }
                (None, None) => {}
            }
        }
        Ok(more)
    }

    /// The same with the secrets of another source, which come from files that are out of reach now.
    #[must_use]
    pub fn with_secrets_of(self, other: &Self) -> Self {
        Self { secret: other.secret.clone(), ..self }
    }

    /// The same with another secret.
    #[must_use]
    pub fn with_secret(mut self, name: &str, secret: Secret) -> Self {
        self.secret.insert(name.to_owned(), secret);
        self
    }

    /// The names of all variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.plain.keys()
    }

    /// Settings from pairs, for tests and for programs that start others.
    pub fn from_pairs<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let plain = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { plain, ..Self::default() }
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

    /// A comma-separated list; none if the variable is unset, and an empty list if it is empty.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        self.plain.get(name).map(|value| Self::items(value))
    }

    /// The items of a list that is separated by commas.
    pub(crate) fn items(text: &str) -> Vec<String> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Those of `names` that are set, with their values, to pass them to a child.
    pub fn pass_on<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
        let set = |name: &str| Some((name.to_owned(), self.plain.get(name)?.clone()));
        names.into_iter().filter_map(set).collect()
    }
}

/// The secret in the file that `variable` names, without the newline that most editors add.
///
/// # Errors
/// A file that cannot be read, is no text, is empty, or is longer than any secret.
pub fn secret_in(variable: &str, path: &str) -> Result<Secret, SettingError> {
    let bad = |expected: String| SettingError::new(variable, path, expected);
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
    fn a_secret_can_be_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let name = "AUTONOUS_TOOL_TOKEN";
        let read = |more: &[(&str, &str)]| {
            let path = path.display().to_string();
            let mut source = Source::from_pairs([("AUTONOUS_TOOL_TOKEN_FILE", &path)]);
            let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            source.plain.extend(more);
            let secret = source.with_secret_files(&[name]).map(|source| source.secret(name));
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
    fn an_empty_value_is_unset_and_an_empty_list_is_empty() {
        let source = Source::from_pairs([("AUTONOUS_X", "")]);
        assert_eq!(source.text("AUTONOUS_X"), None);
        assert_eq!(source.list("AUTONOUS_X"), Some(Vec::new()));
        assert_eq!(source.list("AUTONOUS_Y"), None);
    }
}
