//! The steps, and the errors that name them.
//!
//! A command runs only when every step before it succeeded. A step that failed says which it was and what
//! the kernel answered; it is never mistaken for the command's own exit code.

use std::io;

macro_rules! steps {
    ($($name:ident = $text:literal,)*) => {
        /// One step on the way to a held command, in the order in which they happen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Step {
            $(#[doc = concat!("To ", $text, ".")] $name,)*
        }

        impl Step {
            const ALL: &[Self] = &[$(Self::$name,)*];

            /// What the step was to do, as the end of "could not …".
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

steps! {
    Fork = "fork a process",
    Socket = "make a socket pair or a pipe",
    Signals = "set how signals are handled",
    Descriptors = "close the descriptors of others",
    UserNamespace = "make a user namespace",
    IdentityMap = "map the user into the namespace",
    MountPrivate = "separate the mounts from the machine's",
    SystemView = "show the system's directories read-only",
    RootView = "show an allowed root",
    RootMoved = "find an allowed root where it was opened",
    DeviceView = "show the devices",
    EtcView = "show the files of /etc",
    Pivot = "leave the machine's file tree",
    SealView = "make the file tree read-only",
    FilterBuild = "build the system call filter",
    NotAsRoot = "run without namespaces as an ordinary user",
    LandlockMissing = "find a Landlock that scopes signals (Linux 6.12 or newer)",
    Request = "read the request",
    Session = "start a session of its own",
    Scan = "look for control files and denied names",
    Namespaces = "make the namespaces of the command",
    Loopback = "bring the loopback interface up",
    Hostname = "set the host name",
    PrivateDirectories = "make the private directories",
    HideDenied = "hide a denied name",
    ProtectControl = "make a control file read-only",
    Proc = "show the command's own /proc",
    Reaper = "become the reaper of the command's processes",
    Stdio = "connect stdin, stdout and stderr",
    Workdir = "enter the working directory",
    ResourceLimits = "set the resource limits",
    Capabilities = "drop all capabilities",
    NoNewPrivileges = "give up new privileges",
    Landlock = "put the Landlock rules in force",
    Filter = "put the system call filter in force",
    LastCheck = "confirm that every layer is in force",
    Exec = "execute the program",
}

impl Step {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// A step that failed, and what the kernel answered.
#[derive(Debug, thiserror::Error)]
#[error("could not {step}: {answer}")]
pub struct StepError {
    /// Which step.
    pub step: Step,
    /// What the kernel answered.
    pub answer: io::Error,
}

impl StepError {
    pub(crate) fn errno(&self) -> i32 {
        self.answer.raw_os_error().unwrap_or(libc::EIO)
    }

    pub(crate) fn from_errno(step: Step, errno: i32) -> Self {
        Self { step, answer: io::Error::from_raw_os_error(errno) }
    }
}

/// Names the step of whatever can fail with an answer of the kernel.
pub(crate) trait During<T> {
    /// The same result, its error with the step's name.
    fn during(self, step: Step) -> Result<T, StepError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, step: Step) -> Result<T, StepError> {
        self.map_err(|answer| StepError { step, answer: answer.into() })
    }
}

/// Why there is no sandbox, or no command in it.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Forking a process that has threads would copy locks that nobody opens again.
    #[error("the spawner has to be started before the first thread, and this process has {0} threads")]
    ThreadsExist(usize),
    /// Neither tier can be had here.
    #[error("commands cannot be held here; with namespaces: {tier_a}; with Landlock: {tier_b}")]
    NoTier {
        /// What stood against namespaces.
        tier_a: StepError,
        /// What stood against Landlock alone.
        tier_b: StepError,
    },
    /// The tier that was demanded cannot be had here.
    #[error("the sandbox that was demanded cannot be had here")]
    Demanded(#[source] StepError),
    /// A step towards the command failed; the command did not run.
    #[error("the command did not run")]
    Held(#[source] StepError),
    /// All layers are in force, but the program could not be executed.
    #[error("{program} could not be executed")]
    Exec {
        /// The program as it was named.
        program: String,
        /// What the kernel answered.
        #[source]
        source: io::Error,
    },
    /// The command's working directory could not be entered.
    #[error("the working directory {workdir} could not be entered")]
    Workdir {
        /// The directory as it was named.
        workdir: String,
        /// What the kernel answered.
        #[source]
        source: io::Error,
    },
    /// The request could not be sent.
    #[error("the spawner cannot be reached")]
    Unreachable(#[source] io::Error),
    /// The processes that held the command ended without a report.
    #[error("the sandbox ended without a report on the command")]
    Lost,
    /// The self-check could not be set up.
    #[error("the self-check could not be set up")]
    SelfCheck(#[source] io::Error),
    /// Something that should have been stopped was not; no command may run.
    #[error("the sandbox does not hold: {0}")]
    Escaped(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_survives_its_way_through_a_byte() {
        for step in Step::ALL {
            assert_eq!(Step::from_byte(*step as u8), Some(*step));
        }
        assert_eq!(Step::from_byte(u8::MAX), None);
    }

    #[test]
    fn an_error_names_the_step_and_the_answer() {
        let error = StepError::from_errno(Step::UserNamespace, libc::EPERM);
        assert!(error.to_string().starts_with("could not make a user namespace: Operation not permitted"));
    }
}
