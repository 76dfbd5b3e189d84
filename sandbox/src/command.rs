//! A command to run, and the limits of its processes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The private home directory of a command in tier A: empty at the start and gone at the end.
pub const HOME: &str = "/var/home";

/// The number of the descriptor that takes what a shell leaves. Shells and scripts use lower ones.
pub const STATE_DESCRIPTOR: i32 = 241;

/// Size of the private `/tmp` and of the private home of tier A, each.
pub(crate) const PRIVATE_BYTES: u64 = 256 << 20;

/// Size of the private `/dev/shm` of tier A.
pub(crate) const SHARED_MEMORY_BYTES: u64 = 64 << 20;

/// The limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of CPU time, per process.
    pub cpu_seconds: u64,
    /// Bytes of address space, per process.
    pub address_space_bytes: u64,
    /// Bytes of memory, for the whole command: its processes together and all that it holds in memory
    /// without a process. Looked at several times a second.
    pub memory_bytes: u64,
    /// Bytes of the largest file that may be written.
    pub file_size_bytes: u64,
    /// Open files, per process.
    pub open_files: u64,
    /// Processes and threads at once, for the whole command.
    pub processes: u64,
}

impl Limits {
    /// The limits of a command with this timeout; its CPU time is 5 s longer.
    pub fn for_timeout(timeout: Duration) -> Self {
        Self {
            cpu_seconds: timeout.as_secs() + 5,
            address_space_bytes: 4 << 30,
            memory_bytes: 4 << 30,
            file_size_bytes: 1 << 30,
            open_files: 1024,
            processes: 512,
        }
    }
}

/// A program to run, without a shell in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The program's absolute path, as it is inside the sandbox.
    #[serde(with = "raw_path")]
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// Its whole environment; the sandbox itself sets `HOME` and `TMPDIR`.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether its stdin is a pipe that the server writes to. Without one it is empty.
    pub has_input: bool,
    /// Whether stdin, stdout and stderr are a terminal of its own: [`crate::Running::stdout`] is its other
    /// end, and [`crate::Running::stdin`], if there is one, too.
    pub has_terminal: bool,
    /// Whether it has a pipe ([`crate::STATE_DESCRIPTOR`]) for what its shell leaves at its end.
    pub keeps_state: bool,
    /// Its working directory, absolute.
    #[serde(with = "raw_path")]
    pub workdir: PathBuf,
    /// Its limits.
    pub limits: Limits,
    /// The mounts over parts of the roots before it starts, in this order. Tier B ignores them.
    pub covers: Vec<Cover>,
    /// The network that it shares with the running commands that name the same one. It has an effect only
    /// where commands have a network of their own: in tier A with [`crate::Network::Off`] and
    /// [`crate::Network::Listed`].
    pub network: Option<String>,
    /// Variables with the URL of the proxy that serves [`crate::Running::listener`]. With
    /// [`crate::Network::Listed`] in tier A there is such a socket if there is such a variable, else none.
    pub proxy_variables: Vec<String>,
    /// Whether it has no network, although the others have one. This needs tier A.
    pub is_offline: bool,
    /// All that it sees of the roots; none if it sees them whole, which it cannot if they are divided (see
    /// [`crate::SpawnerSettings::divided`]). This needs tier A.
    pub own_directories: Option<Vec<OwnDirectory>>,
}

/// The part of a root that a command sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnDirectory {
    /// Its absolute path, a root or below one. If another directory is there by now, the command does not
    /// start.
    #[serde(with = "raw_path")]
    pub path: PathBuf,
    /// The device that it is on.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Whether the command cannot change it.
    pub read_only: bool,
}

/// A file or directory of a root that a command must not see or not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// Its absolute path. If another file is there by now, the command does not start.
    #[serde(with = "raw_path")]
    pub path: PathBuf,
    /// The device that it is on.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// What to do with it.
    pub kind: CoverKind,
}

/// What a cover does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoverKind {
    /// Its content cannot be seen.
    Hide,
    /// It and everything below it can be read, and not changed.
    ReadOnly,
    /// It can be changed, and neither moved nor removed.
    Pin,
}

/// Paths as bytes, because serde refuses a `PathBuf` that is not UTF-8.
pub(crate) mod raw_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}
