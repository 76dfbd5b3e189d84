//! Backs up the database: a consistent copy, also while the supervisor is running.
//!
//! The copy is written to a temporary file beside the target, checked, and then renamed, so the target is a
//! good backup or does not exist. Existing files are never overwritten.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;

use crate::queries::{self, QueryError};
use crate::store::open;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Backup {
    pub file: PathBuf,
    pub bytes: u64,
    pub tasks: i64,
    pub events: i64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    #[error(transparent)]
    Look(#[from] QueryError),
    #[error("{} already exists: choose another name", .0.display())]
    Exists(PathBuf),
    #[error("could not write {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error("could not copy the database")]
    Copy(#[source] rusqlite::Error),
    #[error("the copy is damaged ({0}) and was deleted; check the database with `supervisor check`")]
    Damaged(String),
}

/// Copies the database to `file`, readable by its owner alone, and checks the copy.
pub(crate) fn backup(database: &Path, file: &Path) -> Result<Backup, BackupError> {
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let source = queries::open(database)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let partial = file.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let copied = copy_and_check(&source, &partial, file);
    if copied.is_err() {
        // Only the copy can have this name.
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy_and_check(source: &Connection, partial: &Path, file: &Path) -> Result<Backup, BackupError> {
    let written = |error| BackupError::Write(file.to_owned(), error);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial).map_err(written)?;
    // One statement reads one snapshot, whatever the supervisor commits meanwhile.
    source.execute("vacuum into ?1", [partial.display().to_string()]).map_err(BackupError::Copy)?;
    made.sync_all().map_err(written)?;
    let backup = checked(partial, file)?;
    renameat_with(CWD, partial, CWD, file, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        rustix::io::Errno::EXIST => BackupError::Exists(file.to_owned()),
        other => written(other.into()),
    })?;
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))
        .and_then(|directory| directory.sync_all())
        .map_err(written)?;
    Ok(backup)
}

fn checked(partial: &Path, file: &Path) -> Result<Backup, BackupError> {
    let copy = open::for_reading(partial).map_err(QueryError::from)?;
    let text = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, String>(0)).map_err(BackupError::Copy);
    let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(BackupError::Copy);
    let integrity = text("pragma integrity_check(1)")?;
    if integrity != "ok" {
        return Err(BackupError::Damaged(integrity));
    }
    let length = partial.metadata().map_err(|error| BackupError::Write(file.to_owned(), error))?;
    Ok(Backup {
        file: file.to_owned(),
        bytes: length.len(),
        tasks: number("select count(*) from inbox")?,
        events: number("select count(*) from events")?,
    })
}
