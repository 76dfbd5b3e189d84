//! What the commands that only look ask the database, whether a supervisor runs or not.
//!
//! Nothing here writes: the file is opened read-only, and where not even the reader's own index beside it
//! can be made (a read-only disk, a backup), it is read as a file that nobody changes.

pub mod audit;
#[cfg(test)]
mod golden;
pub mod short_id;
pub mod tasks;

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::{StoreError, open};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// There is no database.
    #[error("there is no database at {}: `supervisor run` makes one", .0.display())]
    Missing(PathBuf),
    /// This user may not read it.
    #[error("the database {} can not be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// It was not closed in order, and reading it would need a file beside it.
    #[error(
        "the database {} has changes that are not merged yet, and nothing can be written beside it: \
         copy its directory to where you can write, and look at the copy with --data-dir",
        .0.display()
    )]
    Unmerged(PathBuf),
    /// It is no database any more.
    #[error(
        "the database {} is damaged ({}): stop the supervisor, keep the file, and put a backup in its \
         place; docs/operations.md says how",
        .0.display(), .1
    )]
    Damaged(PathBuf, rusqlite::Error),
    /// There is no such task.
    #[error("there is no task {0}: `supervisor tasks` lists them")]
    NoTask(String),
    /// Several tasks have such an id.
    #[error("{0} is the beginning or end of several tasks' ids: {1}. Give more of it")]
    Ambiguous(String, String),
    /// The database can not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A query failed.
    #[error("the database could not be read")]
    Sqlite(#[from] rusqlite::Error),
}

/// Opens a database for looking.
pub fn open(path: &Path) -> Result<Connection, QueryError> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(QueryError::Missing(path.to_owned()));
        }
        Err(error) => return Err(QueryError::Unreadable(path.to_owned(), error)),
        Ok(_) => {}
    }
    let connection = open::for_reading(path)?;
    match probe(&connection).map_err(|error| (error.sqlite_error_code(), error)) {
        Ok(()) => Ok(connection),
        Err((Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt), error)) => {
            Err(QueryError::Damaged(path.to_owned(), error))
        }
        Err((Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly), error)) => {
            std::fs::File::open(path).map_err(|error| QueryError::Unreadable(path.to_owned(), error))?;
            unchanging(path, error)
        }
        Err((_, error)) => Err(error.into()),
    }
}

/// Opens a file that nobody changes: a running supervisor always has a log of changes beside it.
fn unchanging(path: &Path, error: rusqlite::Error) -> Result<Connection, QueryError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).metadata().is_ok_and(|log| log.len() > 0) {
        return Err(QueryError::Unmerged(path.to_owned()));
    }
    let Some(text) = path.to_str() else { return Err(error.into()) };
    let name = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
    probe(&connection)?;
    Ok(connection)
}

/// The first look at the file itself; opening alone looks at nothing.
fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_database_is_named_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        assert!(matches!(open(&path), Err(QueryError::Missing(_))));
        std::fs::write(&path, "no database at all, but long enough to be taken for one".repeat(30)).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(error, QueryError::Damaged(..)) && error.to_string().contains("backup"), "{error}");
    }

    #[test]
    fn a_database_that_nobody_changes_is_read_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("what? 50% #1.db");
        drop(open::for_writing(&path).unwrap());
        let connection = unchanging(&path, rusqlite::Error::InvalidQuery).unwrap();
        let kept: i64 = connection.query_row("select count(*) from kv", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 0);
        std::fs::write(directory.path().join("what? 50% #1.db-wal"), "x").unwrap();
        let refused = unchanging(&path, rusqlite::Error::InvalidQuery);
        assert!(matches!(refused, Err(QueryError::Unmerged(_))));
    }
}
