//! The paths in the data directory, and the locks that allow only one supervisor in it.
//!
//! Everything is created readable by its owner only. Tools may see only the workspace and the state
//! directory; the database, the tokens and the journal are outside all roots.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use settings::choices::STATE_ROOT;
use store::sql::address::ServerAddress;
use store::{Location, open};

use crate::shipped_skills;

/// A data directory, by its absolute path.
#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
    /// Where the database is, if not here.
    server: Option<Arc<ServerAddress>>,
}

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("could not create the directory {}", .0.display())]
    Create(PathBuf, #[source] io::Error),
    #[error("could not open the lock file {}", .0.display())]
    Lock(PathBuf, #[source] io::Error),
    #[error("another supervisor is using {}: stop it, or choose another --data-dir", .0.display())]
    InUse(PathBuf),
    #[error(
        "the database {} is {what}, but {} is there from earlier runs: pairings, history and schedules would \
         be lost. Nothing was changed. Bring the database back (restore a backup: see docs/backup.md), or \
         move {} away to begin anew",
        .database.display(), .trace.display(), .data.display()
    )]
    DatabaseGone {
        database: PathBuf,
        /// `missing` or `empty`.
        what: &'static str,
        /// What shows that there was one.
        trace: PathBuf,
        data: PathBuf,
    },
}

/// Held while the supervisor runs; the kernel releases them when the process exits, however it does.
#[derive(Debug)]
pub struct DataDirLock(#[expect(dead_code, reason = "held open for their locks")] Vec<File>);

impl DataDir {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, server: None }
    }

    /// The same with its database on a server.
    pub(crate) fn with_database_at(self, server: Option<ServerAddress>) -> Self {
        Self { server: server.map(Arc::new), ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> Location {
        match &self.server {
            Some(server) => Location::Server(Arc::clone(server)),
            None => Location::File(self.database_file()),
        }
    }

    /// The files that each connection to the database's server reads.
    pub fn files_of_server(&self) -> Vec<PathBuf> {
        self.server.iter().flat_map(|server| server.files()).map(Path::to_owned).collect()
    }

    /// The file of the database, if it is not on a server.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.path.join("db/autonous.db")
    }

    pub fn tokens(&self) -> PathBuf {
        self.path.join("tokens")
    }

    /// The tool server's journal.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal/tool-calls.jsonl")
    }

    /// Where the tool server keeps the full text of truncated outputs.
    pub(crate) fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// Where the tools work.
    pub fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    /// Where the agent keeps its own notes.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join(STATE_ROOT)
    }

    /// What was typed in conversations.
    pub fn chat_history(&self) -> PathBuf {
        self.path.join("chat-history")
    }

    pub(crate) fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// The directories whose files the supervisor itself reads and changes; each may be a link to elsewhere.
    pub fn own_directories(&self) -> Vec<PathBuf> {
        ["", "db", "journal"].map(|part| self.path.join(part)).into()
    }

    /// What a supervisor and its tools write, as far as it is there.
    pub fn written(&self) -> Vec<PathBuf> {
        let parts = ["", "db", "journal", "output", "workspace", STATE_ROOT, "db/autonous.db-wal"];
        let files = [self.lock_file(), self.tokens(), self.database_file(), self.journal()];
        parts.map(|part| self.path.join(part)).into_iter().chain(files).collect()
    }

    pub(crate) fn create(&self) -> Result<(), DataDirError> {
        for part in ["", "db", "journal", "output", "workspace", STATE_ROOT] {
            let directory = self.path.join(part);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)
                .map_err(|error| DataDirError::Create(directory, error))?;
        }
        shipped_skills::install(&self.skills())
            .map_err(|error| DataDirError::Create(self.skills(), error))?;
        // These belong to no other program, so they are closed even if they were made with another mode.
        for part in ["db", "journal", "output"] {
            let directory = self.path.join(part);
            std::fs::set_permissions(&directory, Permissions::from_mode(0o700))
                .map_err(|error| DataDirError::Create(directory, error))?;
        }
        Ok(())
    }

    /// What shows that a supervisor has worked here before, other than its database. A tool server that
    /// works alone leaves a journal as well, but no lock.
    pub fn trace_of_earlier_runs(&self) -> Option<PathBuf> {
        let has_bytes = |path: &PathBuf| path.metadata().is_ok_and(|found| found.len() > 0);
        let log = self.path.join("db/autonous.db-wal");
        let own = [self.tokens(), log].into_iter().find(has_bytes);
        own.or_else(|| {
            let journal = self.journal();
            (self.lock_file().exists() && has_bytes(&journal)).then_some(journal)
        })
    }

    /// Refuses to begin with a new database where there was another: it is lost, or on a disk that is not
    /// mounted. `trace` is what showed before this start that there was one.
    pub fn require_database(&self, trace: Option<PathBuf>) -> Result<(), DataDirError> {
        if self.server.is_some() {
            return Ok(());
        }
        let (database, data) = (self.database_file(), self.path.clone());
        match (open::blank(&database), trace) {
            (Some(what), Some(trace)) => Err(DataDirError::DatabaseGone { database, what, trace, data }),
            (_, _) => Ok(()),
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.path.join("supervisor.lock")
    }

    /// Whether a supervisor is running here; creates nothing.
    pub fn is_in_use(&self) -> Result<bool, DataDirError> {
        for path in self.locked() {
            let file = match OpenOptions::new().read(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| DataDirError::Lock(path.clone(), error))?,
            };
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(true),
                Err(errno) => return Err(DataDirError::Lock(path, errno.into())),
            }
        }
        Ok(false)
    }

    /// Takes the locks; fails if another supervisor has one.
    pub fn lock(&self) -> Result<DataDirLock, DataDirError> {
        let path = self.lock_file();
        let made = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        made.map_err(|error| DataDirError::Lock(path, error))?;
        let mut held = Vec::new();
        for path in self.locked() {
            let file = File::open(&path).map_err(|error| DataDirError::Lock(path.clone(), error))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => held.push(file),
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(DataDirError::InUse(self.path.clone())),
                Err(errno) => return Err(DataDirError::Lock(path, errno.into())),
            }
        }
        Ok(DataDirLock(held))
    }

    /// The locked files: one, as older versions do, and the two directories themselves, because a file can
    /// be deleted and made again. The one of the database may be a link to where another data directory's
    /// link leads.
    fn locked(&self) -> [PathBuf; 3] {
        [self.lock_file(), self.path.clone(), self.path.join("db")]
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
