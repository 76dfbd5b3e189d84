//! The short-lived home of a command in tier B, where no memory can be mounted.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const PREFIX: &str = "command-";

/// How deep a tree is made accessible again; what lies deeper stays until the next sweep.
const MAX_DEPTH: u32 = 64;

/// A directory with `home` and `tmp` in it; dropped, it is deleted with all that is in it.
pub struct PrivateHome {
    directory: PathBuf,
}

impl PrivateHome {
    /// Makes one in `scratch`, named after this process.
    pub fn make(scratch: &Path) -> io::Result<Self> {
        let home = Self { directory: scratch.join(format!("{PREFIX}{}", std::process::id())) };
        home.delete();
        for path in [home.directory.clone(), home.home(), home.temporary()] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Ok(home)
    }

    /// Deletes what a watcher that was killed could not.
    pub fn sweep(scratch: &Path) {
        let Ok(entries) = fs::read_dir(scratch) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                drop(Self { directory: entry.path() });
            }
        }
    }

    /// The command's home.
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// The command's directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    fn delete(&self) {
        if fs::remove_dir_all(&self.directory).is_err() {
            make_accessible(&self.directory, MAX_DEPTH);
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// A command may have taken its own right to a directory away.
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
