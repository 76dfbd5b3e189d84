//! A hazard: one thing in the roots that makes another program run code or follow a path.

use std::path::{Path, PathBuf};

use super::git_config::Setting;

/// Two hazards are the same when they stand at the same place and say the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hazard {
    /// The index of its root.
    pub(super) root: usize,
    /// Below the root.
    pub(super) path: PathBuf,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum What {
    /// A directory of control files.
    Directory,
    /// A file with this content, by its SHA-256.
    File(String),
    /// A link that leads here.
    Link(PathBuf),
    /// A setting in a git config.
    Setting(Setting),
    /// A git config that cannot be read to its end, by its SHA-256.
    UnreadableConfig(String),
    /// The commands of an interrupted rebase, by the SHA-256 of its list.
    RebaseCommands(String),
    /// An index with paths that git must not write, by the SHA-256 of these.
    ForbiddenPaths(String),
    /// Packed references that lead elsewhere, by the SHA-256 of their lines.
    ForbiddenRefs(String),
    /// A pipe, a device, or what cannot be opened.
    Special,
    /// A directory that the server cannot look into.
    Unseen,
}

impl Hazard {
    pub(super) fn new(root: usize, path: &Path, what: What) -> Self {
        Self { root, path: path.to_owned(), what }
    }

    /// Whether it is part of a file whose rest can stay.
    pub(super) fn is_part_of_file(&self) -> bool {
        match self.what {
            What::Setting(_) | What::UnreadableConfig(_) => true,
            What::RebaseCommands(_) | What::ForbiddenRefs(_) => true,
            What::Directory | What::File(_) | What::Link(_) => false,
            What::ForbiddenPaths(_) | What::Special | What::Unseen => false,
        }
    }
}
