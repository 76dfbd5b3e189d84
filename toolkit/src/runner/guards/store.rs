//! Small JSON files that outlive the server; each is kept for a day after its last change.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

pub(super) const KEEP: Duration = Duration::from_secs(24 * 3600);

pub(super) struct Store(PathBuf);

impl Store {
    /// The files in a directory, which is made when it is missing.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let store = Self(directory.to_owned());
        store.sweep(SystemTime::now())?;
        Ok(store)
    }

    /// Removes what has expired, and returns the names.
    pub(super) fn sweep(&self, now: SystemTime) -> io::Result<Vec<String>> {
        let mut removed = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if now.duration_since(entry.metadata()?.modified()?).unwrap_or_default() > KEEP {
                fs::remove_file(entry.path())?;
                removed.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(removed)
    }

    /// Makes a new file that survives a power loss.
    pub(super) fn create(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        let mut file = private().create_new(true).open(self.path(name))?;
        file.write_all(&serde_json::to_vec(content)?)?;
        file.sync_data()?;
        File::open(&self.0)?.sync_all()
    }

    /// Replaces a file as a whole.
    pub(super) fn replace(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        let path = self.path(name);
        let temporary = path.with_extension("new");
        private().create(true).truncate(true).open(&temporary)?.write_all(&serde_json::to_vec(content)?)?;
        fs::rename(temporary, path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
