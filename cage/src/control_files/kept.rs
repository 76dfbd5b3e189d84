//! What becomes of control files: of those that were there before a command, and of those that it leaves.

use std::path::PathBuf;

/// What becomes of the control files that a command leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They are taken back.
    TakenBack,
    /// They stay: a person or a rule has allowed it.
    Kept,
}

/// Something that was there before, for the sandbox to keep as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Absolute.
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) how: Keep,
}

/// How it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It cannot be renamed.
    Name,
    /// It cannot be changed.
    Content,
}
