//! Settings that the spawner gets once, at its start.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Which tiers are allowed (`AUTONOUS_TOOL_SANDBOX`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Tier A, else tier B, else no commands.
    #[default]
    Auto,
    /// Tier A, else an error.
    Full,
    /// Tier B, else an error.
    Landlock,
}

/// Which network commands reach (`AUTONOUS_TOOL_BASH_NETWORK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// None but their own loopback.
    #[default]
    Off,
    /// Public addresses over TCP, and nothing of this machine or of the networks around it. In tier B, none.
    Public,
    /// None but their own loopback, where a socket of the server listens for each command. In tier B, none.
    Listed,
    /// All that the server's machine reaches.
    All,
}

impl Network {
    /// What a tier makes of it: without namespaces, commands cannot be kept to public addresses.
    pub(crate) fn within(self, tier: Tier) -> Self {
        if matches!(self, Self::Public | Self::Listed) && tier == Tier::B { Self::Off } else { self }
    }

    /// Whether tier A gives commands a network of their own.
    pub(crate) fn is_their_own(self) -> bool {
        matches!(self, Self::Off | Self::Listed)
    }
}

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces, Landlock and a system call filter.
    A,
    /// Landlock and a system call filter, where namespaces are forbidden.
    B,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A (namespaces, Landlock, system call filter)",
            Self::B => "B (Landlock, system call filter)",
        })
    }
}

/// A directory that commands see. The handle proves that it is the directory that the file tools use.
#[derive(Debug)]
pub struct Root {
    /// Its path, absolute and without links.
    pub path: PathBuf,
    /// The open directory.
    pub handle: OwnedFd,
}

/// Settings of the spawner.
#[derive(Debug)]
pub struct SpawnerSettings {
    /// Directories that commands may change.
    pub roots: Vec<Root>,
    /// Whether a command sees only those directories of the roots that it names as its own. This needs
    /// tier A: without namespaces a command could look at and change the mode of what belongs to others.
    pub divided: bool,
    /// Directories that commands may read and execute from, such as toolchains.
    pub readonly_roots: Vec<Root>,
    /// Files of each command's private home: their names and contents.
    pub home_files: Vec<(&'static str, Vec<u8>)>,
    /// Which tiers are allowed.
    pub mode: Mode,
    /// Which network commands reach.
    pub network: Network,
    /// An existing private directory outside all roots, for the temporary homes of tier B.
    pub scratch: PathBuf,
}
