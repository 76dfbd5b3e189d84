//! A command to run, and what its call gives it: variables and input.
//!
//! Here is checked what they may be. What they mean for the operator's rules is the tools' matter.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use protocol::{ErrorCode, ToolError};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use toolkit::arguments::{elide, invalid};

use crate::control_files::Leaving;

/// The longest input. An empty pipe of Linux holds as much, so that no command keeps its writer waiting.
const MAX_STDIN_BYTES: usize = 64 << 10;

/// The most variables, and how many bytes they may have together.
pub(super) const MAX_VARIABLES: usize = 64;
pub(super) const MAX_ENV_BYTES: usize = 32 << 10;

/// Variables that the sandbox sets: they name the directories that a command has.
const OF_SANDBOX: [&str; 3] = ["HOME", "TMPDIR", "WORKSPACE"];

/// How much of a name an error repeats, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// A command to run.
#[derive(Debug)]
pub struct CommandRequest {
    /// The program, absolute.
    pub program: PathBuf,
    /// What follows the program's name.
    pub arguments: Vec<OsString>,
    /// What its call gives it.
    pub given: Given,
    /// The working directory, absolute, beneath a root.
    pub workdir: PathBuf,
    /// How long it may run.
    pub timeout: Duration,
    /// The tool that runs it.
    pub tool: &'static str,
    /// What becomes of the control files that it leaves.
    pub leaving: Leaving,
    /// Whether it runs in a terminal.
    pub has_terminal: bool,
    /// Whether its shell says its state at its end, for the session's next command.
    pub keeps_state: bool,
}

/// Variables and input of a command.
#[derive(Debug, Default)]
pub struct Given {
    env: BTreeMap<String, String>,
    stdin: Option<String>,
}

impl Given {
    /// What a call gives, if a command can have it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` names the variable that is none or that the sandbox sets, or what is too large.
    pub fn new(env: BTreeMap<String, String>, stdin: Option<String>) -> Result<Self, ToolError> {
        if stdin.as_ref().is_some_and(|stdin| stdin.len() > MAX_STDIN_BYTES) {
            let message = format!("`stdin` has more than {MAX_STDIN_BYTES} bytes.");
            return Err(invalid(message).with_hint("Write a file, and let the command read that."));
        }
        if env.len() > MAX_VARIABLES || bytes_of(&env) > MAX_ENV_BYTES {
            let most = format!("{MAX_VARIABLES} variables and {MAX_ENV_BYTES} bytes");
            return Err(invalid(format!("`env` may have at most {most}.")));
        }
        for (name, value) in &env {
            let shown = elide(name, MAX_QUOTED_CHARS);
            if !is_name(name) {
                let hint = "A name has letters, digits and `_` of ASCII, and begins with no digit.";
                return Err(invalid(format!("{shown:?} in `env` names no variable.")).with_hint(hint));
            }
            if OF_SANDBOX.contains(&name.as_str()) {
                let hint = "Leave it out, or set it in the command itself.";
                return Err(invalid(format!("The sandbox sets `{shown}`, so `env` cannot.")).with_hint(hint));
            }
            if value.contains('\0') {
                return Err(invalid(format!("The value of `{shown}` in `env` has a NUL byte.")));
            }
        }
        Ok(Self { env, stdin })
    }

    pub(super) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    pub(super) fn stdin(&self) -> Option<&str> {
        self.stdin.as_deref()
    }

    /// Writes the input into a command's pipe and closes that; the pipe stays open if no input is given.
    pub(super) fn feed(&self, pipe: &mut Option<OwnedFd>) -> Result<(), ToolError> {
        let Some(stdin) = &self.stdin else { return Ok(()) };
        let failed = || {
            ToolError::new(ErrorCode::Overloaded, "The input does not fit into a pipe of this machine.")
                .with_hint("Write a file, and let the command read that.")
        };
        let Some(pipe) = pipe.take() else { return Err(failed()) };
        // A command that does not read must not keep the server waiting.
        fcntl_getfl(&pipe)
            .and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK))
            .map_err(|_| failed())?;
        match File::from(pipe).write_all(stdin.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(failed()),
            // A command that has ended or closed its stdin wants none.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// How many bytes variables take in an environment.
pub(super) fn bytes_of(env: &BTreeMap<String, String>) -> usize {
    env.iter().map(|(name, value)| name.len() + value.len() + 2).sum()
}

/// Whether a call may give a command a variable of this name.
pub(super) fn is_for_call(name: &str) -> bool {
    is_name(name) && !OF_SANDBOX.contains(&name)
}

/// Whether a shell could have a variable of this name.
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
