//! What the index found in the roots, at one moment.

use std::path::PathBuf;

use rustix::fs::FileType;

/// Why an entry is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    /// Its name is denied; commands must not see it.
    Denied,
    /// A directory whose name is a part of what makes an entry below it denied.
    NamesDenied,
    /// A unix socket: somebody outside of the sandbox may answer on it.
    Socket,
    /// A directory that cannot be searched, so its content is unknown.
    Unreadable,
    /// A directory whose path is so long that nothing in it can be covered.
    TooDeep,
    /// A control file by its name, or a directory of them.
    Control,
    /// Called `.git`, in any letter case: a repository, or a file or link that leads to one.
    DotGit,
    /// A directory that git takes for a repository, whatever its name: by its layout.
    GitDirectory,
}

/// One entry of interest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Index of its root: the writable ones first, then the read-only ones.
    pub(crate) root: usize,
    /// Below its root; empty for the root itself.
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) file_type: FileType,
    /// Differs when the entry may be another one than before, even with the same path and inode number.
    pub(crate) seen: u64,
}

/// All entries of interest, sorted by root and path: a directory comes before its entries. A path that is
/// of interest for several reasons has an entry for each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) entries: Vec<Entry>,
    /// The roots' paths, absolute.
    pub(crate) roots: Vec<PathBuf>,
}

impl Snapshot {
    /// The absolute path of an entry.
    pub(crate) fn absolute(&self, entry: &Entry) -> PathBuf {
        // Joining an empty path would add a slash.
        let root = &self.roots[entry.root];
        if entry.path.as_os_str().is_empty() { root.clone() } else { root.join(&entry.path) }
    }
}
