//! What the spawner is told once, at its start.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::ControlFiles;

/// Which tiers may be taken (`AUTONOUS_TOOL_SANDBOX`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Namespaces, else Landlock alone, else no commands.
    #[default]
    Auto,
    /// Namespaces, else an error.
    Full,
    /// Landlock alone, else an error.
    Landlock,
}

/// How a command is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces of its own, Landlock and a system call filter.
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

/// A directory that commands see, with the handle that proves it is the same one the file tools use.
#[derive(Debug)]
pub struct Root {
    /// Where it is, absolute and without links.
    pub path: PathBuf,
    /// The open directory.
    pub handle: OwnedFd,
}

/// Says whether a path beneath a root is to be hidden from commands.
pub type IsDenied = Box<dyn Fn(&Path) -> bool>;

/// All that the spawner needs to know.
pub struct SpawnerSettings {
    /// Directories that commands may change.
    pub roots: Vec<Root>,
    /// Directories that commands may read and execute from, such as toolchains.
    pub readonly_roots: Vec<Root>,
    /// Whether a path, relative to its root, is denied. An entry beneath a denied directory is not asked.
    pub is_denied: IsDenied,
    /// The files that make other programs run code.
    pub control_files: ControlFiles,
    /// Which tiers may be taken.
    pub mode: Mode,
    /// Whether commands reach the network as the server does.
    pub network: bool,
    /// An existing private directory outside all roots, for the short-lived homes of tier B.
    pub scratch: PathBuf,
}
