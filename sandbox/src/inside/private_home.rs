//! The temporary home of a command in tier B, where no tmpfs can be mounted.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const PREFIX: &str = "command-";

/// How deep we restore access to a tree; deeper directories stay until the next sweep.
const MAX_DEPTH: u32 = 64;

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
        if fs::remove_dir_all(&self.directory).is_err() {
            make_accessible(&self.directory, MAX_DEPTH);
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// Writes the files that each private home has.
pub(super) fn write_files(home: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    files.iter().try_for_each(|(name, content)| fs::write(home.join(name), content))
}

/// A command may have removed its own access to a directory.
fn make_accessible(directory: &Path, depth: u32) {
    if depth == 0 || fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).is_err() {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_accessible(&entry.path(), depth - 1);
        }
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        self.delete();
    }
}
