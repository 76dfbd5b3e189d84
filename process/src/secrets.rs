//! Secrets: a type that does not print, and the way that keeps them out of every environment.
//!
//! `remove_var` does not clear `/proc/self/environ`, so a secret that came in the environment leaves it
//! only when the process replaces itself with a clean one. The secrets then travel through a pipe whose
//! number is in `AUTONOUS_SECRETS_FD`, as one JSON object from variable name to value. A parent passes
//! secrets to its children over the same pipe.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Names the descriptor that the secrets come through.
pub const SECRETS_FD: &str = "AUTONOUS_SECRETS_FD";

/// More than any set of keys needs, and less than a pipe holds without a reader.
const MAX_SECRETS_BYTES: usize = 32 * 1024;

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value, for the one place that has to send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same, in a time that depends on the lengths alone.
    pub fn matches(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let difference = ours.iter().zip(theirs).fold(0, |sum, (a, b)| sum | (a ^ b));
        ours.len() == theirs.len() && difference == 0
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Why secrets could not be passed or received.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The pipe could not be made or written.
    #[error("secrets could not be put into a pipe")]
    Pipe(#[source] io::Error),
    /// The secrets together are too long.
    #[error("the secrets are longer than {MAX_SECRETS_BYTES} bytes together")]
    TooLong,
    /// The process could not replace itself.
    #[error("the process could not start itself again without secrets in its environment")]
    Exec(#[source] io::Error),
    /// The descriptor could not be read.
    #[error("{SECRETS_FD}={0:?} is no descriptor that secrets can be read from")]
    Descriptor(String, #[source] io::Error),
    /// What came through the descriptor is no object of texts.
    #[error("what came through {SECRETS_FD} is no JSON object of texts")]
    Malformed,
}

/// A pipe that holds the secrets, for one reader. The reading end survives an exec.
pub fn into_pipe(secrets: &HashMap<String, String>) -> Result<OwnedFd, SecretsError> {
    let text = serde_json::to_vec(secrets).map_err(|_| SecretsError::Malformed)?;
    if text.len() > MAX_SECRETS_BYTES {
        return Err(SecretsError::TooLong);
    }
    let (reader, writer) = rustix::pipe::pipe().map_err(|errno| SecretsError::Pipe(errno.into()))?;
    std::fs::File::from(writer).write_all(&text).map_err(SecretsError::Pipe)?;
    Ok(reader)
}

/// Replaces this process with itself, without the variables `names` in its environment.
///
/// Returns when there is nothing to remove. Call it first in `main`, before threads exist.
pub fn leave_environment(names: &[&str]) -> Result<(), SecretsError> {
    let found: HashMap<String, String> = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let pipe = into_pipe(&found)?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("autonous"));
    let mut command = Command::new(std::env::current_exe().map_err(SecretsError::Exec)?);
    command.arg0(name).args(arguments).env(SECRETS_FD, pipe.as_raw_fd().to_string());
    for name in names {
        command.env_remove(name);
    }
    Err(SecretsError::Exec(command.exec()))
}

/// The secrets that this process was given by descriptor; empty when it was given none.
pub(crate) fn received() -> Result<HashMap<String, Secret>, SecretsError> {
    let Ok(descriptor) = std::env::var(SECRETS_FD) else { return Ok(HashMap::new()) };
    let text = read_descriptor(&descriptor).map_err(|error| SecretsError::Descriptor(descriptor, error))?;
    let secrets: HashMap<String, String> =
        serde_json::from_str(&text).map_err(|_| SecretsError::Malformed)?;
    Ok(secrets.into_iter().map(|(name, value)| (name, Secret(value))).collect())
}

fn read_descriptor(descriptor: &str) -> io::Result<String> {
    let number: u32 = descriptor.parse().map_err(io::Error::other)?;
    let mut text = String::new();
    let limit = u64::try_from(MAX_SECRETS_BYTES).unwrap_or(u64::MAX);
    std::fs::File::open(format!("/proc/self/fd/{number}"))?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "Secret(***)");
    }

    #[test]
    fn a_secret_matches_only_itself() {
        let secret = Secret::from("abc");
        assert!(secret.matches("abc"));
        for other in ["", "ab", "abd", "abcd"] {
            assert!(!secret.matches(other), "{other}");
        }
    }

    #[test]
    fn secrets_pass_through_a_pipe() {
        let secrets = HashMap::from([("AUTONOUS_TOOL_TOKEN".to_owned(), "t".to_owned())]);
        let pipe = into_pipe(&secrets).unwrap();
        let text = read_descriptor(&pipe.as_raw_fd().to_string()).unwrap();
        assert_eq!(text, r#"{"AUTONOUS_TOOL_TOKEN":"t"}"#);
    }
}
