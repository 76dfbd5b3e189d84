//! Which names the index looks for. The caller says so, since the modules that know are above this one.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::snapshot::EntryKind;

/// The names by which git knows a repository.
const LAYOUT: [&[u8]; 4] = [b"HEAD", b"commondir", b"objects", b"refs"];

/// An answer about a name or a path.
type Answer<Asked, T> = Box<dyn Fn(&Asked) -> T + Send + Sync>;

/// Answers about names. Paths are below their root.
pub(crate) struct Rules {
    /// Whether an entry of this name can be denied: cheap, and asked for every entry.
    pub(crate) may_be_denied: Answer<[u8], bool>,
    /// Whether an entry is denied; not asked below a denied one.
    pub(crate) is_denied: Answer<Path, bool>,
    /// How many directories above a denied entry must keep their names for it to be denied.
    pub(crate) naming_parents: Answer<Path, usize>,
    /// Whether an entry is a control file by its name.
    pub(crate) is_control: Answer<Path, bool>,
    /// Whether an entry of this name can be a control file: cheap, and asked for every entry.
    pub(crate) may_be_control: Answer<[u8], bool>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules")
    }
}

impl Rules {
    /// Whether a name can be of interest at all.
    pub(super) fn may_matter(&self, name: &[u8], writable: bool) -> bool {
        (self.may_be_denied)(name)
            || (writable && (is_dot_git(name) || layout_bit(name).is_some() || (self.may_be_control)(name)))
    }

    /// Why an entry is of interest by its path, if it is.
    pub(super) fn kind(&self, path: &Path, writable: bool) -> Option<EntryKind> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        if (self.may_be_denied)(name) && (self.is_denied)(path) {
            Some(EntryKind::Denied)
        } else if !writable {
            None
        } else if (self.may_be_control)(name) && (self.is_control)(path) {
            Some(EntryKind::Control)
        } else {
            is_dot_git(name).then_some(EntryKind::DotGit)
        }
    }
}

fn is_dot_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// The bit of a name that belongs to a repository's layout.
pub(super) fn layout_bit(name: &[u8]) -> Option<u8> {
    LAYOUT
        .iter()
        .position(|part| OsStr::from_bytes(part).eq_ignore_ascii_case(OsStr::from_bytes(name)))
        .map(|bit| 1 << bit)
}

/// Whether git takes a directory with these names for a repository: a `HEAD`, and the objects and references
/// or the name of the directory that has them.
pub(super) fn is_git_layout(bits: u8) -> bool {
    bits & 0b0011 == 0b0011 || bits & 0b1101 == 0b1101
}
