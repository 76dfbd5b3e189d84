//! What an entry of a directory is, for every tool that shows entries. Links are never followed.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, Stat, statat};
use schemars::JsonSchema;
use serde::Serialize;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl From<FileType> for EntryType {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }
}

impl EntryType {
    /// The type of an entry itself.
    pub(crate) fn of(stat: &Stat) -> Self {
        FileType::from_raw_mode(stat.st_mode).into()
    }

    /// The type that the directory lists; if the file system lists none, the type of the entry itself.
    pub(crate) fn listed(directory: BorrowedFd<'_>, name: &[u8], listed_as: FileType) -> Self {
        if listed_as != FileType::Unknown {
            return Self::from(listed_as);
        }
        statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(Self::Other, |stat| Self::of(&stat))
    }
}
