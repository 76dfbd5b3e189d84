//! Moves the database from its file to a PostgreSQL server, or back into a new file, while no supervisor
//! runs.
//!
//! The source stays as it is. A server gets everything in one transaction; a file is written under another
//! name and renamed, so the target has all rows or is as it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use progress_line::{ProgressLine, Unit};
use serde::Serialize;
use store::Location;
use store::move_database::{MoveError, MovedTable, Progress, to_file, to_server};
use store::sql::address::ServerAddress;

use crate::backup::{begin, give_name, remove_abandoned, unfinished};
use crate::data_dir::{DataDir, DataDirError, DataDirLock};
use crate::health::database_file::with_suffix;

/// Where a database goes.
#[derive(Debug)]
pub enum Target {
    /// The file of the data directory.
    File,
    Server(Arc<ServerAddress>),
}

/// What was moved, for people and programs.
#[derive(Debug, Serialize)]
pub struct Moved {
    pub from: String,
    pub to: String,
    pub tables: Vec<MovedTable>,
}

#[derive(Debug, thiserror::Error)]
pub enum MoveDatabaseError {
    #[error(transparent)]
    Move(Box<MoveError>),
    #[error("{0}. Nothing was moved")]
    DataDir(#[from] DataDirError),
    #[error("there is no data directory {}: name that of the supervisor with --data-dir", .0.display())]
    NoDataDir(PathBuf),
    #[error(
        "the settings say that the database is at {0} already. To move the file of the data directory there, \
         run this command without AUTONOUS_DATABASE_URL and without [data] database_url_file"
    )]
    SameServer(String),
    #[error(
        "the settings say that the database is at {0}, and this command does not copy from one server to \
         another: use pg_dump and pg_restore"
    )]
    TwoServers(String),
    #[error(
        "the settings say that the database is the file {} already. To move it there from a server, run this \
         command with AUTONOUS_DATABASE_URL or [data] database_url_file naming that server",
        .0.display()
    )]
    SameFile(PathBuf),
    #[error(
        "{} exists, perhaps as the copy from before an earlier move. Nothing was changed. Move it to another \
         place, with the files beside it whose names begin the same, and try again",
        .0.display()
    )]
    Exists(PathBuf),
    #[error("could not write {}. Nothing was moved. See that the disk has room, and try again", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

impl From<MoveError> for MoveDatabaseError {
    fn from(error: MoveError) -> Self {
        Self::Move(Box::new(error))
    }
}

/// Moves the database of the data directory to `target`. `progress` shows how far it is.
pub fn move_database(
    data: &DataDir,
    target: &Target,
    progress: &ProgressLine,
) -> Result<Moved, MoveDatabaseError> {
    let from = data.database();
    let mut seen = |step: Progress| match step {
        Progress::Copying(rows) => progress.step_of("Copying the rows", rows, Unit::Things),
        Progress::Comparing(rows) => progress.step_of("Comparing the rows", rows, Unit::Things),
        Progress::Row => progress.advance(1),
    };
    progress.step("Opening both databases");
    let (to, tables) = match (&from, target) {
        (Location::File(file), Target::Server(server)) => {
            let _lock = lock(data)?;
            (server.to_string(), to_server(file, server, &mut seen)?)
        }
        (Location::Server(server), Target::File) => {
            let file = data.database_file();
            let _lock = lock(data)?;
            (file.display().to_string(), to_new_file(server, &file, &mut seen)?)
        }
        (Location::File(file), Target::File) => return Err(MoveDatabaseError::SameFile(file.clone())),
        (Location::Server(one), Target::Server(other)) => {
            let (one, is_same) = (one.to_string(), one.to_string() == other.to_string());
            let error = if is_same { MoveDatabaseError::SameServer } else { MoveDatabaseError::TwoServers };
            return Err(error(one));
        }
    };
    Ok(Moved { from: from.to_string(), to, tables })
}

/// Keeps supervisors out, and the commands that change the database by themselves.
fn lock(data: &DataDir) -> Result<DataDirLock, MoveDatabaseError> {
    if !data.path().join("db").is_dir() {
        return Err(MoveDatabaseError::NoDataDir(data.path().to_owned()));
    }
    Ok(data.lock()?)
}

fn to_new_file(
    server: &Arc<ServerAddress>,
    file: &Path,
    seen: &mut dyn FnMut(Progress),
) -> Result<Vec<MovedTable>, MoveDatabaseError> {
    let exists = |file: &PathBuf| file.symlink_metadata().is_ok();
    if let Some(there) = [file.to_owned()].into_iter().chain(beside(file)).find(exists) {
        return Err(MoveDatabaseError::Exists(there));
    }
    remove_abandoned(file.parent().unwrap_or(Path::new("/")));
    let partial = unfinished(file);
    let written = write(server, (&partial, file), seen);
    if written.is_err() {
        // Only this process can have files of these names.
        for left in [partial.clone()].into_iter().chain(beside(&partial)) {
            let _ = fs::remove_file(left);
        }
    }
    written
}

fn write(
    server: &Arc<ServerAddress>,
    (partial, file): (&Path, &Path),
    seen: &mut dyn FnMut(Progress),
) -> Result<Vec<MovedTable>, MoveDatabaseError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => MoveDatabaseError::Exists(file.to_owned()),
        _ => MoveDatabaseError::Write(file.to_owned(), error),
    };
    let made = begin(partial).map_err(failed)?;
    let tables = to_file(server, partial, seen)?;
    made.sync_all().map_err(failed)?;
    give_name(partial, file).map_err(failed)?;
    Ok(tables)
}

/// The files that SQLite makes beside a database.
fn beside(file: &Path) -> impl Iterator<Item = PathBuf> {
    ["-wal", "-shm", "-journal"].into_iter().map(move |ending| with_suffix(file, ending))
}
