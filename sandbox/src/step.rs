//! The setup steps, and the errors that name them.
//!
//! A command runs only when every step before it succeeded. A failed step is reported by name with the
//! kernel's error; it is never mistaken for the command's own exit code.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::command::raw_path;

macro_rules! steps {
    ($($name:ident = $text:literal,)*) => {
        /// One step on the way to a confined command, in the order in which they happen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Step {
            $(#[doc = concat!("To ", $text, ".")] $name,)*
        }

        impl std::fmt::Display for Step {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

// Each text completes the sentence "could not …".
steps! {
    Fork = "fork a process",
    Socket = "create a socket pair or a pipe",
    Signals = "set signal handling",
    Descriptors = "close inherited file descriptors",
    Dumpable = "keep other processes from looking into this one",
    UserNamespace = "create a user namespace",
    IdentityMap = "map the user into the namespace",
    MountPrivate = "make the mounts private",
    SystemView = "mount the system directories read-only",
    RootView = "mount an allowed root",
    RootMoved = "find an allowed root where it was opened",
    OwnDirectories = "show of the roots only what belongs to the command",
    DeviceView = "mount the devices",
    EtcView = "mount the files of /etc",
    Pivot = "leave the machine's file tree",
    SealView = "make the file tree read-only",
    FilterBuild = "build the system call filter",
    NotAsRoot = "run without namespaces as an ordinary user",
    LandlockMissing = "find a Landlock that scopes signals (Linux 6.12 or newer)",
    Request = "read the request",
    Session = "start a new session",
    Namespaces = "create the command's namespaces",
    Loopback = "bring the loopback interface up",
    Hostname = "set the host name",
    PrivateDirectories = "create the private directories",
    Covers = "hide or protect a file of a root",
    Proc = "mount the command's own /proc",
    Reaper = "become the reaper of the command's processes",
    Stdio = "connect stdin, stdout and stderr",
    Terminal = "make the command's terminal",
    Workdir = "enter the working directory",
    Listener = "listen in the command's network",
    Connector = "start the process that makes the command's connections",
    ResourceLimits = "set the resource limits",
    Capabilities = "drop all capabilities",
    NoNewPrivileges = "set no_new_privs",
    Landlock = "enforce the Landlock rules",
    Filter = "install the system call filter",
    LastCheck = "confirm that every layer is in force",
    Exec = "execute the program",
}

/// A failed step, with the kernel's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("could not {step}: {}", io::Error::from_raw_os_error(*errno))]
pub struct StepError {
    /// Which step failed.
    pub step: Step,
    /// The kernel's error number.
    pub errno: i32,
}

impl StepError {
    pub(crate) fn new(step: Step, errno: i32) -> Self {
        Self { step, errno }
    }
}

/// Why a command did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Step(StepError),
    CoverMoved(#[serde(with = "raw_path")] PathBuf),
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl From<Failure> for SandboxError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Step(error) => Self::Setup(error),
            Failure::CoverMoved(path) => Self::CoverMoved(path),
        }
    }
}

/// Adds the step to an error of the kernel.
pub(crate) trait During<T> {
    fn during(self, step: Step) -> Result<T, StepError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: Step) -> Result<T, StepError> {
        self.map_err(|error| StepError::new(step, error.into().raw_os_error().unwrap_or(libc::EIO)))
    }
}

/// Why there is no sandbox, or why a command did not run in it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SandboxError {
    /// A fork of a process with threads would copy locks that no thread releases.
    #[error("the spawner must start before the first thread, but this process has {0} threads")]
    ThreadsExist(usize),
    #[error("commands cannot be confined here; tier A (namespaces): {tier_a}; tier B (Landlock): {tier_b}")]
    NoTier { tier_a: StepError, tier_b: StepError },
    #[error("the required sandbox is not available here")]
    TierUnavailable(#[source] StepError),
    #[error("commands cannot be kept to directories of their own here, which needs tier A (namespaces)")]
    DividedRoots(#[source] StepError),
    #[error("the command did not run")]
    Setup(#[source] StepError),
    /// All layers are in force, but the program could not be executed.
    #[error("cannot execute {program}")]
    Exec {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot enter the working directory {workdir}")]
    Workdir {
        workdir: String,
        #[source]
        source: io::Error,
    },
    /// A cover's file is gone, or another one is at its path. Nothing was run.
    #[error("{0:?} moved before it could be hidden or protected")]
    CoverMoved(PathBuf),
    #[error("cannot reach the spawner")]
    Unreachable(#[source] io::Error),
    #[error("the sandbox ended without reporting on the command")]
    NoReport,
    #[error("cannot set up the self-check")]
    SelfCheck(#[source] io::Error),
    /// Something got through that must not; no command may run.
    #[error("the sandbox does not hold: {0}")]
    Escaped(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_step_and_the_cause() {
        let error = StepError::new(Step::UserNamespace, libc::EPERM);
        assert!(error.to_string().starts_with("could not create a user namespace: Operation not permitted"));
    }
}
