//! The paths in the data directory, and the lock that allows only one supervisor in it.
//!
//! Everything is created readable by its owner only. Tools may see only the workspace and the state
//! directory; the database, the tokens and the journal are outside all roots.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use process::workspaces::STATE_ROOT;
use rustix::fs::{FlockOperation, flock};

/// The skills that come with the program.
static SKILLS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../skills");

/// A data directory, by its absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataDir(PathBuf);

#[derive(Debug, thiserror::Error)]
pub(crate) enum DataDirError {
    #[error("could not create the directory {}", .0.display())]
    Create(PathBuf, #[source] io::Error),
    #[error("could not open the lock file {}", .0.display())]
    Lock(PathBuf, #[source] io::Error),
    #[error(
        "another supervisor is using {}: stop it, or choose another --data-dir",
        .0.display()
    )]
    InUse(PathBuf),
}

/// Held while the supervisor runs; the kernel releases it when the process exits, however it does.
#[derive(Debug)]
pub(crate) struct DataDirLock(#[expect(dead_code, reason = "held open for its lock")] File);

impl DataDir {
    pub(crate) fn at(absolute: PathBuf) -> Self {
        Self(absolute)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("db/autonous.db")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.0.join("tokens")
    }

    /// The tool server's journal.
    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal/tool-calls.jsonl")
    }

    /// Where the supervisor's own tools keep the idempotency keys of their calls.
    pub(crate) fn calls(&self) -> PathBuf {
        self.0.join("db/calls")
    }

    /// Where the tool server keeps the full text of truncated outputs.
    pub(crate) fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    /// Where the tools work.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// Where the agent keeps its own notes.
    pub(crate) fn state(&self) -> PathBuf {
        self.0.join(STATE_ROOT)
    }

    /// What was typed in conversations.
    pub(crate) fn chat_history(&self) -> PathBuf {
        self.0.join("chat-history")
    }

    pub(crate) fn skills(&self) -> PathBuf {
        self.0.join("skills")
    }

    /// The directories whose files the supervisor itself reads and changes; each may be a link to elsewhere.
    pub(crate) fn own_directories(&self) -> Vec<PathBuf> {
        ["", "db", "journal"].map(|part| self.0.join(part)).into()
    }

    pub(crate) fn create(&self) -> Result<(), DataDirError> {
        for part in ["", "db", "journal", "output", "workspace", STATE_ROOT] {
            let directory = self.0.join(part);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(|error| DataDirError::Create(directory, error))?;
        }
        self.install_skills().map_err(|error| DataDirError::Create(self.skills(), error))?;
        // These are nobody else's, so they are closed even if they were made with another mode.
        for part in ["db", "journal", "output"] {
            let directory = self.0.join(part);
            std::fs::set_permissions(&directory, Permissions::from_mode(0o700))
                .map_err(|error| DataDirError::Create(directory, error))?;
        }
        Ok(())
    }

    /// Puts the skills of this program there, once: a directory of skills that is there stays as it is, also
    /// an empty one.
    fn install_skills(&self) -> io::Result<()> {
        if self.skills().try_exists()? {
            return Ok(());
        }
        // Complete before it has its name, so that a kill leaves all skills or none.
        let new = self.0.join("skills.new");
        match std::fs::remove_dir_all(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for skill in SKILLS.dirs() {
            DirBuilder::new().recursive(true).mode(0o700).create(new.join(skill.path()))?;
        }
        SKILLS.extract(&new)?;
        std::fs::rename(&new, self.skills())
    }

    /// Whether a supervisor is running here; creates nothing.
    pub(crate) fn is_in_use(&self) -> Result<bool, DataDirError> {
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

    /// Takes the lock; fails if another supervisor has it.
    pub(crate) fn lock(&self) -> Result<DataDirLock, DataDirError> {
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
    use super::*;

    #[test]
    fn everything_is_created_readable_by_its_owner_only() {
        let temporary = tempfile::tempdir().unwrap();
        let data = DataDir::at(temporary.path().join("data"));
        data.create().unwrap();
        std::fs::set_permissions(data.output(), Permissions::from_mode(0o755)).unwrap();
        data.create().unwrap();
        for directory in [data.path().to_owned(), data.workspace(), data.output()] {
            let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
        }
    }
}
