//! What read-only commands ask the database, whether a supervisor runs or not.
//!
//! Nothing here writes: the file is opened read-only. Where SQLite cannot create its index file beside the
//! database (a read-only disk, a backup), the database is read as one that does not change.

pub mod asked;
pub mod audit;
pub mod figures;
#[cfg(test)]
mod golden;
pub mod page;
pub mod short_id;
pub mod tasks;
pub mod usage;
pub mod watch;

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, OpenFlags};

use crate::sql::{self, Connection, Params, Row};
use crate::{Location, StoreError, open, open_server};

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("no database at {}; `supervisor run` creates it", .0.display())]
    Missing(PathBuf),
    #[error(
        "the database {} is empty: `supervisor run` says what to do, or docs/operations.md",
        .0.display()
    )]
    Empty(PathBuf),
    #[error("the database {0} has no tables; `supervisor run` makes them")]
    NoTables(String),
    #[error("cannot read the database {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    #[error(
        "the database {} has changes that are not merged yet, and its directory is not writable. Copy the \
         directory to where you can write, and pass the copy with --data-dir",
        .0.display()
    )]
    Unmerged(PathBuf),
    #[error(
        "the database {} is damaged ({}). Stop the supervisor, keep the file, and restore a backup: see \
         docs/backup.md",
        .0.display(), .1
    )]
    Damaged(PathBuf, crate::sql::Error),
    #[error("no such task: {0}. List tasks with `supervisor tasks`")]
    NoTask(String),
    #[error("{0} matches several tasks: {1}. Type more of the ID")]
    Ambiguous(String, String),
    #[error("{0}")]
    NoEvents(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not read the database")]
    Sqlite(#[from] crate::sql::Error),
}

/// Opens the database for questions alone.
pub fn open(location: impl Into<Location>) -> Result<Connection, QueryError> {
    match location.into() {
        Location::File(path) => open_file(&path),
        Location::Server(address) => {
            let connection = open_server::for_reading(&address)?;
            match open_server::version(&connection)? {
                Some(_) => Ok(connection),
                None => Err(QueryError::NoTables(address.to_string())),
            }
        }
    }
}

fn open_file(path: &Path) -> Result<Connection, QueryError> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(QueryError::Missing(path.to_owned()));
        }
        Err(error) => return Err(QueryError::Unreadable(path.to_owned(), error)),
        Ok(file) if file.len() == 0 => return Err(QueryError::Empty(path.to_owned())),
        Ok(_) => {}
    }
    let connection = open::for_reading(path)?;
    match probe(&connection).map_err(|error| (error.sqlite_error_code(), error)) {
        Ok(()) => Ok(connection),
        Err((Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt), error)) => {
            Err(QueryError::Damaged(path.to_owned(), error))
        }
        Err((Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly), error)) => {
            // Never closed: this process would lose its locks on the database.
            let readable = std::fs::File::open(path).map(std::mem::forget);
            readable.map_err(|error| QueryError::Unreadable(path.to_owned(), error))?;
            open_immutable(path, error)
        }
        Err((_, error)) => Err(error.into()),
    }
}

/// Opens a file without writers: a running supervisor always has a write-ahead log beside it.
fn open_immutable(path: &Path, error: crate::sql::Error) -> Result<Connection, QueryError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).metadata().is_ok_and(|log| log.len() > 0) {
        return Err(QueryError::Unmerged(path.to_owned()));
    }
    let Some(text) = path.to_str() else { return Err(error.into()) };
    let name = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{name}?immutable=1");
    let connection = rusqlite::Connection::open_with_flags(uri, flags).map_err(sql::Error::from)?;
    let connection = Connection::from(connection);
    probe(&connection)?;
    Ok(connection)
}

/// Reads the file: opening alone does not.
fn probe(connection: &Connection) -> crate::sql::Result<()> {
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
}

/// All rows of a query that orders them newest first; returned oldest first.
fn oldest_first<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: fn(&Row<'_>) -> crate::sql::Result<T>,
) -> crate::sql::Result<Vec<T>> {
    let mut rows = connection.query_all(sql, parameters, read)?;
    rows.reverse();
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_on_a_read_only_disk_is_readable() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("what? 50% #1.db");
        drop(open::for_writing(&path).unwrap());
        let connection = open_immutable(&path, sql::Error::NoRows).unwrap();
        let kept: i64 = connection.query_row("select count(*) from kv", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 0);
        std::fs::write(directory.path().join("what? 50% #1.db-wal"), "x").unwrap();
        let refused = open_immutable(&path, sql::Error::NoRows);
        assert!(matches!(refused, Err(QueryError::Unmerged(_))));
    }
}
