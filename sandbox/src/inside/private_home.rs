//! The temporary home of a command in tier B, where no tmpfs can be mounted.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::remove_tree::remove_tree;

const PREFIX: &str = "command-";

/// A directory with `home` and `tmp` in it; deleted when this is dropped.
pub(super) struct PrivateHome {
    directory: PathBuf,
}

impl PrivateHome {
    /// The home of the sandbox with this number, in `scratch`; it does not exist yet.
    pub(super) fn in_directory(scratch: &Path, number: u64) -> Self {
        Self { directory: scratch.join(format!("{PREFIX}{}-{number}", std::process::id())) }
    }

    pub(super) fn exists(&self) -> bool {
        self.directory.exists()
    }

    /// Creates the directories, empty but for these files of the home.
    pub(super) fn create(&self, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
        self.delete();
        for path in [self.directory.clone(), self.home(), self.tmp()] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        write_files(&self.home(), files)
    }

    /// Deletes the homes of a spawner that was killed.
    pub(super) fn sweep(scratch: &Path) {
        let Ok(entries) = fs::read_dir(scratch) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                drop(Self { directory: entry.path() });
            }
        }
    }

    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    pub(super) fn delete(&self) {
        let (Some(scratch), Some(name)) = (self.directory.parent(), self.directory.file_name()) else {
            return;
        };
        // What cannot be removed now, the next start tries again.
        let _ = File::open(scratch).and_then(|scratch| remove_tree(scratch.as_fd(), name, || Ok(())));
    }
}

/// Writes the files that each private home has.
pub(super) fn write_files(home: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    files.iter().try_for_each(|(name, content)| fs::write(home.join(name), content))
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        self.delete();
    }
}
