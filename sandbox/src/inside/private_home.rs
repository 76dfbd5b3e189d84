//! The short-lived home of a command in tier B, where no memory can be mounted.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A directory with `home` and `tmp` in it; dropped, it is deleted with all that is in it.
pub struct PrivateHome {
    directory: PathBuf,
}

impl PrivateHome {
    /// Makes one in `scratch`, named after this process.
    pub fn make(scratch: &Path) -> io::Result<Self> {
        let home = Self { directory: scratch.join(format!("command-{}", std::process::id())) };
        home.delete();
        for path in [home.directory.clone(), home.home(), home.temporary()] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Ok(home)
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
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        self.delete();
    }
}
