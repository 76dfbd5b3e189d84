//! Keeps a copy of a database before its schema is changed, for going back to the program from before.
//!
//! The copy lies beside the database: `autonous.db.schema-11` was read by programs that know version 11. Only
//! the newest is kept. Without one, the schema is not changed.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::StoreError;

/// What the name of a copy has between that of the database and the version.
const SCHEMA: &str = ".schema-";

/// The copy of a database with this version.
pub(crate) fn place(database: &Path, version: i64) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(format!("{SCHEMA}{version}"));
    PathBuf::from(name)
}

/// Copies the database, with what its log has, and removes older copies.
pub(crate) fn keep(connection: &Connection, database: &Path, version: i64) -> Result<PathBuf, StoreError> {
    let copy = place(database, version);
    let unfinished = copy.with_extension("unfinished");
    let failed = |error: io::Error| StoreError::NoCopy(copy.clone(), error.to_string());
    remove(&unfinished).map_err(failed)?;
    // SQLite fills an empty file, and keeps its mode.
    let file =
        OpenOptions::new().create_new(true).write(true).mode(0o600).open(&unfinished).map_err(failed)?;
    connection
        .execute("vacuum into ?1", [unfinished.to_string_lossy()])
        .map_err(|error| StoreError::NoCopy(copy.clone(), error.to_string()))?;
    file.sync_all().map_err(failed)?;
    fs::rename(&unfinished, &copy).map_err(failed)?;
    for older in copies(database).map_err(failed)? {
        if older != copy {
            remove(&older).map_err(failed)?;
        }
    }
    Ok(copy)
}

fn copies(database: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = database.parent().unwrap_or(Path::new("."));
    let name = database.file_name().unwrap_or_default().to_string_lossy().into_owned() + SCHEMA;
    let is_copy = |path: &PathBuf| {
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        found.strip_prefix(&name).is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let entries = directory.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter(is_copy).collect())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
