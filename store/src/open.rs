//! Opens the database, for the one writer and for read-only commands.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection as File, ErrorCode, OpenFlags};
use rusqlite_migration::Migrations;

use super::copy_before_update;
use super::open_server;
use super::schema::MIGRATIONS;
pub use super::schema::known_version;
use super::sql::{self, Connection};
use super::{Location, StoreError};

/// How long to wait for another program that reads or copies the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long merging the log waits for readers: the end of a run must not wait for them.
const MERGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens and migrates the database; a file that is damaged, or that a newer program made, is not changed.
pub fn for_writing(location: impl Into<Location>) -> Result<Connection, StoreError> {
    match location.into() {
        Location::File(path) => file_for_writing(&path),
        Location::Server(address) => open_server::for_writing(&address),
    }
}

/// The same for the one writer of a run. A file has locks of its own; a server keeps other writers out.
pub(crate) fn for_the_writer(location: Location) -> Result<Connection, StoreError> {
    let connection = for_writing(location)?;
    if let Connection::Server(session) = &connection {
        session.be_the_writer()?;
    }
    Ok(connection)
}

fn file_for_writing(path: &Path) -> Result<Connection, StoreError> {
    prepared(path).map(Connection::from).map_err(|error| match error {
        StoreError::Database(cause) if is_damage(&cause) => StoreError::Damaged(path.to_owned(), cause),
        StoreError::Migration(rusqlite_migration::Error::RusqliteError { err, .. })
            if is_code_of_damage(err.sqlite_error_code()) =>
        {
            StoreError::Damaged(path.to_owned(), err.into())
        }
        other => other,
    })
}

pub fn is_damage(error: &sql::Error) -> bool {
    is_code_of_damage(error.sqlite_error_code())
}

fn is_code_of_damage(code: Option<ErrorCode>) -> bool {
    matches!(code, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn prepared(path: &Path) -> Result<File, StoreError> {
    make_private(path)?;
    let mut connection = File::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_temporary_data_in_memory(&connection)?;
    let found: i64 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
    let known = known_version();
    if found > known {
        return Err(StoreError::Newer { location: path.into(), found, known });
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A channel confirms a message once it is committed here, so a commit must survive a power loss.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if (1..known).contains(&found) {
        let copy = copy_before_update::keep(&connection, path, found)?;
        tracing::warn!(
            from = found, to = known, copy = %copy.display(),
            "the database is updated to this program's schema; the copy is for going back"
        );
    }
    Migrations::from_directory(&MIGRATIONS)?.to_latest(&mut connection)?;
    Ok(connection)
}

/// Lets only the owner read the database. SQLite gives the files beside it the mode of the database, which
/// is 0644 unless it exists already.
fn make_private(path: &Path) -> Result<(), StoreError> {
    // If it cannot be created, SQLite says why.
    let _ = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        let file = PathBuf::from(file);
        let Ok(metadata) = file.metadata() else { continue };
        if metadata.permissions().mode() & 0o077 != 0 {
            let private = fs::set_permissions(&file, Permissions::from_mode(0o600));
            private.map_err(|error| StoreError::NotPrivate(file, error))?;
        }
    }
    Ok(())
}

/// The version of the schema of a database.
pub fn version(connection: &Connection) -> sql::Result<i64> {
    match connection {
        Connection::Sqlite(_) => connection.query_row("pragma user_version", [], |row| row.get(0)),
        Connection::Server(_) => Ok(open_server::version(connection)?.unwrap_or(0)),
    }
}

/// The space that the database takes, in bytes, as its server counts it; none for a file.
pub fn size_on_server(connection: &Connection) -> sql::Result<Option<i64>> {
    match connection {
        Connection::Sqlite(_) => Ok(None),
        Connection::Server(_) => {
            let size = "select pg_database_size(current_database())";
            connection.query_row(size, [], |row| row.get(0)).map(Some)
        }
    }
}

/// In what way there is no database here, or none with anything in it; none if there is one, or if it cannot
/// be read, which opening it explains.
pub fn blank(path: &Path) -> Option<&'static str> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some("missing"),
        Err(_) => return None,
        Ok(file) if file.len() == 0 => return Some("empty"),
        Ok(_) => {}
    }
    let tables = for_reading(path).and_then(|connection| {
        Ok(connection.query_row("select count(*) from sqlite_schema", [], |row| row.get::<i64>(0))?)
    });
    matches!(tables, Ok(0)).then_some("empty")
}

/// Returns the space of deleted rows to the disk. This rewrites the whole file: no other program may use it.
pub fn make_smaller(path: &Path) -> Result<(), StoreError> {
    // The copy would not fit into memory.
    Ok(file_for_writing(path)?.execute_batch("pragma temp_store = default; vacuum")?)
}

/// Merges SQLite's log into the database, as far as no reader still needs it.
pub fn merge_log(path: &Path) -> Result<(), StoreError> {
    let connection = File::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(MERGE_TIMEOUT)?;
    Ok(connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?)
}

/// Opens the database for reading, whether a supervisor runs or not.
pub fn for_reading(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = File::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_temporary_data_in_memory(&connection)?;
    Ok(connection.into())
}

/// A running supervisor cannot reach the directories in which SQLite makes temporary files.
fn keep_temporary_data_in_memory(connection: &File) -> Result<(), StoreError> {
    Ok(connection.pragma_update(None, "temp_store", "memory")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::TestDatabase;

    #[test]
    fn the_file_is_in_wal_mode_and_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let connection = for_writing(directory.path().join("a.db")).unwrap();
        let connection = connection.sqlite().unwrap();
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), synchronous), ("wal", 2));
    }

    #[test]
    fn a_database_of_every_earlier_schema_opens_and_a_copy_from_before_is_kept() {
        for version in 1..known_version() {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            let mut earlier = File::open(&path).unwrap();
            let migrations = Migrations::from_directory(&MIGRATIONS).unwrap();
            migrations.to_version(&mut earlier, usize::try_from(version).unwrap()).unwrap();
            earlier.execute("insert into kv values ('a', 'kept')", []).unwrap();
            drop(earlier);
            fs::write(copy_before_update::place(&path, 0), "an older copy").unwrap();
            let kept = |path: &Path| -> (String, i64) {
                let connection = File::open(path).unwrap();
                let sql = "select value, user_version from kv, pragma_user_version where key = 'a'";
                connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
            };
            let copy = copy_before_update::place(&path, version);
            let updated = for_writing(&path).unwrap();
            assert_eq!(kept(&path), ("kept".to_owned(), known_version()));
            assert_eq!(kept(&copy), ("kept".to_owned(), version));
            assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert!(!copy_before_update::place(&path, 0).exists(), "only the newest copy is kept");
            drop(updated);
            // Where no copy can be kept, nothing changes.
            fs::copy(&copy, &path).unwrap();
            for file in ["a.db-wal", "a.db-shm"] {
                let _ = fs::remove_file(directory.path().join(file));
            }
            fs::remove_file(&copy).unwrap();
            fs::create_dir(&copy).unwrap();
            let refused = for_writing(&path).unwrap_err().to_string();
            assert!(refused.contains("could not keep a copy of the database"), "{refused}");
            assert_eq!(kept(&path).1, version);
        }
    }

    #[test]
    fn the_tables_refuse_what_must_not_happen() {
        let database = TestDatabase::in_a_file();
        let some = "
            insert into events (id, type, time_ms, payload) values ('e', 'process.started', 1, '{}');
            insert into inbox (id, channel, chat_id, text, state, attempt, available_at_ms, created_at_ms,
                               updated_at_ms, finished_at_ms)
            values ('done', 'local', 'local', 'c', 'done', 1, 1, 1, 1, 1);
            insert into history (channel, chat_id, task_id, role, text, created_at_ms)
            values ('local', 'local', 'done', 'user', 'c', 1);
            insert into outbox (task_id, part, channel, chat_id, text, state, available_at_ms, error,
                                event_id, created_at_ms, updated_at_ms, finished_at_ms)
            values ('done', 1, 'telegram', '7', 'D', 'dead', 1, 'e', 'r', 1, 1, 1);";
        database.execute_batch(some).unwrap();
        database.refuses(&[
            "update inbox set state = 'queued', finished_at_ms = null where id = 'done'",
            "update outbox set state = 'queued', attempt = 1, finished_at_ms = null where state = 'dead'",
            "update events set type = 'a.b'",
            "delete from events",
            "delete from inbox where id = 'done'",
            "insert into history (channel, chat_id, task_id, role, text, created_at_ms)
             values ('a', 'b', 'nobody', 'user', 'c', 1)",
        ]);
    }

    #[test]
    fn only_the_owner_can_read_the_files_whoever_made_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let modes = || {
            let files = ["a.db", "a.db-wal", "a.db-shm"].map(|name| directory.path().join(name));
            files.map(|file| file.metadata().unwrap().permissions().mode() & 0o777)
        };
        let connection = for_writing(&path).unwrap();
        connection.execute("insert into kv values ('a', 'b')", []).unwrap();
        assert_eq!(modes(), [0o600; 3]);
        // As an earlier version left them.
        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            fs::set_permissions(directory.path().join(name), Permissions::from_mode(0o644)).unwrap();
        }
        let _second = for_writing(&path).unwrap();
        assert_eq!(modes(), [0o600; 3]);
    }

    #[test]
    fn a_reader_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        for_writing(&path).unwrap();
        let reader = for_reading(&path).unwrap();
        assert!(reader.execute("insert into kv values ('a', 'b')", []).is_err());
    }
}
