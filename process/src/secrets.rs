//! Secrets: a type that does not print, and a pipe that keeps them out of every environment.
//!
//! `remove_var` does not clear `/proc/self/environ`. So a process that finds a secret in its environment
//! executes itself again with a clean one, and passes the secrets through a pipe whose number is in
//! `AUTONOUS_SECRETS_FD`, as a JSON object from variable name to value. A parent passes secrets to its
//! children in the same way.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::forked::{self, ForkResult};

/// The variable with the number of the secrets' descriptor.
pub const SECRETS_FD: &str = "AUTONOUS_SECRETS_FD";

/// More than any set of keys needs, and less than a pipe buffers without a reader.
const MAX_SECRETS_BYTES: u64 = 32 * 1024;

/// The bytes of a token; 256 bits cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// A new token, in hexadecimal digits.
///
/// # Errors
/// The system gives no random bytes.
pub fn random_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value, for the one place that must send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same, in a time that depends only on the lengths.
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
#[expect(missing_docs, reason = "the messages say it")]
pub enum SecretsError {
    #[error("cannot write the secrets to a pipe")]
    Pipe(#[source] io::Error),
    #[error("all secrets together are longer than {MAX_SECRETS_BYTES} bytes")]
    TooLong,
    #[error("cannot restart without secrets in the environment")]
    Exec(#[source] io::Error),
    #[error("cannot read secrets from {SECRETS_FD}={0:?}")]
    Descriptor(String, #[source] io::Error),
    #[error("the content of {SECRETS_FD} is not a JSON object of strings")]
    Malformed,
}

/// The reading end of a pipe with the secrets in it, for one reader. It survives an exec.
pub fn into_pipe(secrets: &HashMap<String, String>) -> Result<OwnedFd, SecretsError> {
    let text = serde_json::to_vec(secrets).map_err(|_| SecretsError::Malformed)?;
    if text.len() as u64 > MAX_SECRETS_BYTES {
        return Err(SecretsError::TooLong);
    }
    let (reader, writer) = rustix::pipe::pipe().map_err(|errno| SecretsError::Pipe(errno.into()))?;
    File::from(writer).write_all(&text).map_err(SecretsError::Pipe)?;
    Ok(reader)
}

/// Executes this program again without the variables `names` in its environment.
///
/// Returns if there is nothing to remove. Call it first in `main`, before threads exist.
pub fn leave_environment(names: &[impl AsRef<str>]) -> Result<(), SecretsError> {
    let names = || names.iter().map(AsRef::as_ref);
    let found: HashMap<String, String> = names()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
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
    for name in names() {
        command.env_remove(name);
    }
    Err(SecretsError::Exec(command.exec()))
}

/// Secrets that were divided.
#[derive(Debug)]
pub struct Divided {
    /// A pipe with those that were named.
    pub theirs: OwnedFd,
    /// The names of the others.
    pub ours: Vec<String>,
}

/// Takes the secrets `names` out of the descriptor of [`SECRETS_FD`] into a pipe of their own, before this
/// process, which has one thread, has read any.
///
/// A process that ends at once does the work, so that they are never in this one's memory.
pub fn divide(names: &[impl AsRef<str>]) -> Result<Option<Divided>, SecretsError> {
    let Ok(descriptor) = std::env::var(SECRETS_FD) else { return Ok(None) };
    let number: i32 = descriptor
        .parse()
        .map_err(|error| SecretsError::Descriptor(descriptor.clone(), io::Error::other(error)))?;
    let pipe = || rustix::pipe::pipe().map_err(|errno| SecretsError::Pipe(errno.into()));
    let ((ours, to_us), (theirs, to_them), (told, to_tell)) = (pipe()?, pipe()?, pipe()?);
    match forked::fork().map_err(SecretsError::Pipe)? {
        ForkResult::Child => {
            let divided = write_divided(&descriptor, names, [to_us, to_them, to_tell]);
            forked::exit(i32::from(divided.is_err()))
        }
        ForkResult::Parent(child) => {
            drop((to_us, to_them, to_tell));
            forked::wait_for(child).map_err(SecretsError::Pipe)?;
            forked::replace_descriptor(number, &ours).map_err(SecretsError::Pipe)?;
            let told = File::from(told);
            let ours = serde_json::from_reader(told).map_err(|_| SecretsError::Malformed)?;
            Ok(Some(Divided { theirs, ours }))
        }
    }
}

fn write_divided(
    descriptor: &str,
    names: &[impl AsRef<str>],
    [to_us, to_them, to_tell]: [OwnedFd; 3],
) -> Result<(), SecretsError> {
    let text = read_descriptor(descriptor).map_err(SecretsError::Pipe)?;
    let all: HashMap<String, String> = serde_json::from_str(&text).map_err(|_| SecretsError::Malformed)?;
    let is_theirs = |name: &String| names.iter().any(|theirs| theirs.as_ref() == name);
    let (theirs, ours): (HashMap<_, _>, HashMap<_, _>) =
        all.into_iter().partition(|(name, _)| is_theirs(name));
    let names: Vec<&String> = ours.keys().collect();
    let text = serde_json::to_vec(&names).map_err(|_| SecretsError::Malformed)?;
    File::from(to_tell).write_all(&text).map_err(SecretsError::Pipe)?;
    for (secrets, pipe) in [(ours, to_us), (theirs, to_them)] {
        let text = serde_json::to_vec(&secrets).map_err(|_| SecretsError::Malformed)?;
        File::from(pipe).write_all(&text).map_err(SecretsError::Pipe)?;
    }
    Ok(())
}

/// The secrets in a pipe.
pub fn in_pipe(pipe: OwnedFd) -> Result<HashMap<String, Secret>, SecretsError> {
    parse(&io::read_to_string(File::from(pipe).take(MAX_SECRETS_BYTES)).map_err(SecretsError::Pipe)?)
}

fn parse(text: &str) -> Result<HashMap<String, Secret>, SecretsError> {
    let secrets: HashMap<String, String> = serde_json::from_str(text).map_err(|_| SecretsError::Malformed)?;
    Ok(secrets.into_iter().map(|(name, value)| (name, Secret(value))).collect())
}

/// The secrets that this process got by descriptor; empty if there are none.
pub fn received() -> Result<HashMap<String, Secret>, SecretsError> {
    let Ok(descriptor) = std::env::var(SECRETS_FD) else { return Ok(HashMap::new()) };
    let text = read_descriptor(&descriptor).map_err(|error| SecretsError::Descriptor(descriptor, error))?;
    parse(&text)
}

fn read_descriptor(descriptor: &str) -> io::Result<String> {
    let number: u32 = descriptor.parse().map_err(io::Error::other)?;
    io::read_to_string(File::open(format!("/proc/self/fd/{number}"))?.take(MAX_SECRETS_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tokens_differ_and_have_64_digits() {
        let (first, second) = (random_token().unwrap(), random_token().unwrap());
        assert_ne!(first, second);
        assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    }

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
