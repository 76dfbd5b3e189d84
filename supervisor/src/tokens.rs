//! The tokens of the running supervisor, in one file that only its owner can read.
//!
//! Commands that talk to a running supervisor read its tokens and addresses here. The file is replaced as a
//! whole, so that a reader sees those of one start and never a mixture.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use process::Secret;
use serde::{Deserialize, Serialize};

/// Tokens and addresses of one start.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tokens {
    pub control_token: String,
    pub tool_token: String,
    /// For who decides about the calls of others at the tool server; absent in a file of an earlier version.
    #[serde(default)]
    pub approver_token: String,
    pub control_url: String,
    pub tool_url: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("could not write the token file")]
    Write(#[source] io::Error),
    #[error("no supervisor has run in this data directory yet: start one with `supervisor run`")]
    Missing,
    #[error("could not read the token file")]
    Read(#[source] io::Error),
    #[error("the token file is damaged: restart the supervisor to replace it")]
    Damaged(#[source] serde_json::Error),
}

impl Tokens {
    /// Writes the file, readable by its owner only.
    pub(crate) fn write(&self, path: &Path) -> Result<(), TokensError> {
        let fresh = path.with_extension("new");
        let text = serde_json::to_string_pretty(self).map_err(TokensError::Damaged)?;
        write_private(&fresh, &text).map_err(TokensError::Write)?;
        std::fs::rename(&fresh, path).map_err(TokensError::Write)
    }

    /// Reads what the last start wrote.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(TokensError::Damaged),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(TokensError::Missing),
            Err(error) => Err(TokensError::Read(error)),
        }
    }

    /// The control token, in a type that does not print.
    pub(crate) fn control(&self) -> Secret {
        Secret::from(self.control_token.as_str())
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // A file left by an interrupted start could have another mode.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_private_and_can_be_read_back() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("tokens");
        assert!(matches!(Tokens::read(&path), Err(TokensError::Missing)));
        let tokens = Tokens {
            control_token: "c".to_owned(),
            tool_token: "t".to_owned(),
            approver_token: "a".to_owned(),
            control_url: "http://127.0.0.1:1".to_owned(),
            tool_url: "http://127.0.0.1:2".to_owned(),
        };
        tokens.write(&path).unwrap();
        tokens.write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Tokens::read(&path).unwrap().tool_token, "t");
    }
}
