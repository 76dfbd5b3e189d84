//! Opening the database file, for the one writer and for the commands that only look.

use std::path::Path;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rusqlite_migration::Migrations;

use super::StoreError;

static MIGRATIONS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../migrations");

/// The version of the schema that this program makes and knows: one for each migration.
pub fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.dirs().count()).unwrap_or(i64::MAX)
}

/// How long to wait for somebody who looks at the file or copies it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the database for the writer and brings its schema up to date. A file that is damaged, or that a
/// newer program made, is left as it is.
pub fn for_writing(path: &Path) -> Result<Connection, StoreError> {
    prepared(path).map_err(|error| match error {
        StoreError::Sqlite(cause) if is_damage(&cause) => StoreError::Damaged(path.to_owned(), cause),
        StoreError::Migration(rusqlite_migration::Error::RusqliteError { err, .. }) if is_damage(&err) => {
            StoreError::Damaged(path.to_owned(), err)
        }
        other => other,
    })
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn prepared(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found: i64 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
    let known = known_version();
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    // An update is confirmed to Telegram once it is committed here, so a commit must survive a power loss.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Migrations::from_directory(&MIGRATIONS)?.to_latest(&mut connection)?;
    Ok(connection)
}

/// Gives the room of what was deleted back to the disk. The whole file is written anew, so nobody else may
/// be at work.
pub fn make_smaller(path: &Path) -> Result<(), StoreError> {
    Ok(for_writing(path)?.execute_batch("vacuum")?)
}

/// Opens the database to look at it, whether a supervisor runs or not.
pub fn for_reading(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_in_wal_mode_and_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let connection = for_writing(&directory.path().join("a.db")).unwrap();
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), synchronous), ("wal", 2));
    }

    #[test]
    fn a_database_is_opened_again_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        for_writing(&path).unwrap().execute("insert into kv values ('a', 'b')", []).unwrap();
        let again = for_writing(&path).unwrap();
        let value: String = again.query_row("select value from kv", [], |row| row.get(0)).unwrap();
        assert_eq!(value, "b");
    }

    #[test]
    fn a_database_of_a_newer_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        for_writing(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(for_writing(&path), Err(StoreError::Newer { found: 99, .. })));
    }

    #[test]
    fn a_reader_can_not_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        for_writing(&path).unwrap();
        let reader = for_reading(&path).unwrap();
        assert!(reader.execute("insert into kv values ('a', 'b')", []).is_err());
    }
}
