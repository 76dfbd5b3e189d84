//! Whether the files of the running database are still those that were opened, and undamaged.
//!
//! The writer notices nothing of this while it finds its pages in memory. So another connection reads the
//! file, and takes no lock that the writer would wait for.
//!
//! A process that closes any descriptor of a file loses all its locks on it, also those of SQLite's own
//! descriptors (<https://www.sqlite.org/howtocorrupt.html>, 2.2). Another program that closes the database
//! would then take itself for the last one, and remove the log that the writer writes to. So the descriptor
//! for looking is opened once and never closed.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use protocol::EventId;
use store::open::is_damage;
use store::queries::{self, QueryError};

/// What every database file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The file, and those beside it that a running database has: its log, and the index of that.
pub(crate) const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

type Identity = Option<(u64, u64)>;

/// The files of the open database.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    /// The database itself, or why it could not be opened.
    file: Result<&'static File, io::ErrorKind>,
    /// Which files they were when the database was opened.
    opened: [Identity; 3],
    /// This run's `process.started`, which is the newest of them.
    run: EventId,
}

impl DatabaseFile {
    /// The files of a database that was just opened and written to.
    pub(crate) fn opened(path: PathBuf, run: EventId) -> Self {
        let opened = identities(&path);
        let file = File::open(&path).map(|file| &*Box::leak(Box::new(file))).map_err(|error| error.kind());
        Self { path, file, opened, run }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is no longer the one that was opened.
    pub(crate) fn replaced(&self) -> Option<PathBuf> {
        let now = identities(&self.path);
        let changed =
            self.opened.iter().zip(&now).position(|(opened, now)| opened.is_some() && opened != now);
        changed.map(|index| with_suffix(&self.path, SUFFIXES[index]))
    }

    /// The fault of the file's beginning. Without it SQLite would take the file for an empty one.
    pub(crate) fn bad_beginning(&self) -> Option<String> {
        let mut beginning = [0; MAGIC.len()];
        let file = self.file.map_err(io::Error::from);
        let read = file.and_then(|file| file.read_exact_at(&mut beginning, 0));
        match read {
            Ok(()) if beginning == *MAGIC => None,
            Ok(()) => Some("it does not begin as a database does".to_owned()),
            Err(error) => Some(format!("its beginning cannot be read: {error}")),
        }
    }

    /// The fault of the file, all of which is read.
    pub(crate) fn damage(&self) -> Result<Option<String>, QueryError> {
        match self.inspect() {
            Err(QueryError::Damaged(_, error)) => Ok(Some(error.to_string())),
            Err(QueryError::Sqlite(error)) if is_damage(&error) => Ok(Some(error.to_string())),
            inspected => inspected,
        }
    }

    fn inspect(&self) -> Result<Option<String>, QueryError> {
        let connection = queries::open(&self.path)?;
        let found: String = connection.query_row("pragma quick_check(1)", [], |row| row.get(0))?;
        if found != "ok" {
            return Ok(Some(found.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        let newest = "select id from events where type = 'process.started' order by seq desc limit 1";
        match connection.query_row(newest, [], |row| row.get::<String>(0)) {
            Ok(newest) if newest == self.run.as_str() => Ok(None),
            Err(error) if !is_of_another_database(&error) => Err(error.into()),
            Ok(_) | Err(_) => Ok(Some("its content was replaced by another database's".to_owned())),
        }
    }
}

/// Whether the row, or its whole table, does not exist.
fn is_of_another_database(error: &store::sql::Error) -> bool {
    matches!(error, store::sql::Error::NoRows)
        || error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown)
}

fn identities(path: &Path) -> [Identity; 3] {
    SUFFIXES.map(|suffix| with_suffix(path, suffix).metadata().ok().map(|file| (file.dev(), file.ino())))
}

/// The file whose name is longer by this.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
