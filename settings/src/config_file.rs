//! Reads a TOML file of the configuration directory, and says where in it a mistake is.
//!
//! An error names the file, the line and what would be right, and never quotes the file, which may hold
//! secrets.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeTable;

/// More than any list of settings needs.
const MAX_BYTES: u64 = 1 << 20;

/// A configuration file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFileError {
    path: PathBuf,
    /// From 1.
    line: Option<usize>,
    what: String,
}

impl ConfigFileError {
    /// An error about a line, from 1.
    pub(crate) fn at(path: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }

    /// An error about the whole file.
    pub(crate) fn whole(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }
}

impl fmt::Display for ConfigFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ConfigFileError {}

/// A file that was read, for errors about its content.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// Reads a file; none if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigFileError> {
        let failed = |what: String| ConfigFileError::whole(path, what);
        match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(file) if file.len() > MAX_BYTES => {
                return Err(failed(format!("has more than {MAX_BYTES} bytes")));
            }
            Ok(_) | Err(_) => {}
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
        Ok(Some(Self { path: path.to_owned(), text }))
    }

    /// A file that is to be written.
    pub(crate) fn of_text(path: &Path, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The file's content as `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigFileError> {
        toml::from_str(&self.text).map_err(|error| self.error(error.span(), error.message()))
    }

    /// The file's content with the places of its keys and values.
    pub(crate) fn table(&self) -> Result<Spanned<DeTable<'_>>, ConfigFileError> {
        DeTable::parse(&self.text).map_err(|error| self.error(error.span(), error.message()))
    }

    /// An error about a part of the file, or about all of it.
    pub fn error(&self, part: Option<Range<usize>>, what: impl Into<String>) -> ConfigFileError {
        let line = part.map(|part| self.line(part.start));
        ConfigFileError { path: self.path.clone(), line, what: what.into().replace('\n', "; ") }
    }

    /// The line of a place in the file, from 1.
    pub fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn an_error_names_the_file_and_the_line_and_quotes_nothing() {
        let file = ConfigFile { path: "/c/x.toml".into(), text: "a = 1\nb = hunter2\n".into() };
        let error = file.parse::<HashMap<String, u8>>().unwrap_err().to_string();
        assert!(error.starts_with("/c/x.toml, line 2: ") && !error.contains("hunter2"), "{error}");
        let text = "a = 1\nb = \"hunter2\"\n".to_owned();
        let error = ConfigFile { text, ..file }.parse::<HashMap<String, bool>>().unwrap_err().to_string();
        assert!(error.starts_with("/c/x.toml, line 1: invalid type: integer"), "{error}");
    }

    #[test]
    fn a_file_that_is_missing_is_none_and_one_that_cannot_be_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(ConfigFile::read(&directory.path().join("none.toml")).unwrap().is_none());
        let error = ConfigFile::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
        let large = directory.path().join("large.toml");
        std::fs::File::create(&large).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(ConfigFile::read(&large).unwrap_err().to_string().contains("has more than"));
    }
}
