//! The data directory: what lies where, and the lock that keeps it to one supervisor.
//!
//! Everything is made readable by its owner alone. The workspace and the state directory are the only
//! parts that tools may see; database, tokens and journal are in no root.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// A data directory, by its absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir(PathBuf);

/// Why a data directory can not be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// A directory in it could not be made.
    #[error("the directory {} could not be made", .0.display())]
    Create(PathBuf, #[source] io::Error),
    /// The lock file could not be opened.
    #[error("the lock {} could not be opened", .0.display())]
    Lock(PathBuf, #[source] io::Error),
    /// Another supervisor holds the lock.
    #[error(
        "another supervisor already uses {}: stop it first, or give this one its own --data-dir",
        .0.display()
    )]
    InUse(PathBuf),
}

/// Held as long as the supervisor runs; the kernel gives it back when the process ends, however it ends.
#[derive(Debug)]
pub struct DataDirLock(#[expect(dead_code, reason = "held open for its lock")] File);

impl DataDir {
    /// The data directory at an absolute path.
    pub fn at(absolute: PathBuf) -> Self {
        Self(absolute)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.0.join("db/autonous.db")
    }

    /// The tokens of the running supervisor.
    pub fn tokens(&self) -> PathBuf {
        self.0.join("tokens")
    }

    /// The tool server's journal.
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal/tool-calls.jsonl")
    }

    /// Where the tool server keeps whole outputs that were cut.
    pub fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    /// Where the tools work.
    pub fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// Where the agent keeps notes of its own.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The skills.
    pub fn skills(&self) -> PathBuf {
        self.0.join("skills")
    }

    /// Makes what is missing.
    pub fn create(&self) -> Result<(), DataDirError> {
        for part in ["", "db", "journal", "output", "workspace", "state", "skills"] {
            let directory = self.0.join(part);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(|error| DataDirError::Create(directory, error))?;
        }
        Ok(())
    }

    /// Whether a supervisor runs here; nothing is made for the answer.
    pub fn is_in_use(&self) -> Result<bool, DataDirError> {
        let path = self.0.join("supervisor.lock");
        let file = match OpenOptions::new().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(|error| DataDirError::Lock(path.clone(), error))?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(DataDirError::Lock(path, errno.into())),
        }
    }

    /// Takes the lock, or says that another supervisor has it.
    pub fn lock(&self) -> Result<DataDirLock, DataDirError> {
        let path = self.0.join("supervisor.lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = opened.map_err(|error| DataDirError::Lock(path.clone(), error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DataDirLock(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(DataDirError::InUse(self.0.clone())),
            Err(errno) => Err(DataDirError::Lock(path, errno.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_second_supervisor_is_refused_until_the_first_is_gone() {
        let temporary = tempfile::tempdir().unwrap();
        let data = DataDir::at(temporary.path().join("data"));
        data.create().unwrap();
        let first = data.lock().unwrap();
        assert!(matches!(data.lock(), Err(DataDirError::InUse(_))));
        assert!(data.is_in_use().unwrap());
        drop(first);
        assert!(!data.is_in_use().unwrap());
        data.lock().unwrap();
    }

    #[test]
    fn what_is_made_is_readable_by_its_owner_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let data = DataDir::at(temporary.path().join("data"));
        data.create().unwrap();
        for directory in [data.path().to_owned(), data.workspace(), data.output()] {
            let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
        }
    }
}
