//! Moves a whole database from a file to a server or back: copies every row, and compares both.
//!
//! The caller holds the lock of the data directory; the lock of the server's one writer is taken here.
//! The source is read in one transaction and never changed. What is written is one transaction, which ends
//! only if each table has as many rows as its source and the same hash. Which tables there are is read from
//! the schema, so that none can be forgotten.

mod digest;
mod error;
mod fill;
mod numbers;
mod put;
mod rows;
mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::schema::known_version;
use super::sql::Connection;
use super::sql::address::ServerAddress;
use super::{Location, StoreError, nodes, open, open_server, queries};

pub use digest::MovedTable;
pub use error::MoveError;
pub use fill::Progress;

/// Copies a file's database to an empty one of a server. `seen` is called as it proceeds.
pub fn to_server(
    file: &Path,
    server: &Arc<ServerAddress>,
    seen: &mut dyn FnMut(Progress),
) -> Result<Vec<MovedTable>, MoveError> {
    let (from, to) = (Location::from(file), Location::Server(Arc::clone(server)));
    let source = queries::open(file)?;
    check_version(&source, &from)?;
    check_integrity(&source, &from)?;
    // A transaction that only reads sees the same from its first question on.
    source.execute_batch("begin").map_err(|error| MoveError::Read(from.clone(), error))?;
    let unusable = |error: StoreError| MoveError::target(&to, error);
    let target = open_server::connect(server, false).map_err(unusable)?;
    be_alone(&target).map_err(unusable)?;
    if open_server::version(&target).map_err(|error| MoveError::Write(to.clone(), error))?.is_some()
        && let Some(at_work) = nodes::at_work(&target).map_err(unusable)?
    {
        return Err(MoveError::Nodes(to, at_work));
    }
    target.begin().map_err(|error| MoveError::Write(to.clone(), error))?;
    let moved = open_server::migrate(&target, server).map_err(unusable).and_then(|()| {
        let tables = tables::of(&source, &target)?;
        fill::refuse_rows(&target, &to, &tables)?;
        let moved = fill::fill((&source, &from), (&target, &to), &tables, seen)?;
        numbers::to_server(&source, &target, &tables).map_err(|error| MoveError::Write(to.clone(), error))?;
        Ok(moved)
    });
    let moved = moved.inspect_err(|_| target.roll_back())?;
    target.commit().map_err(|error| MoveError::NotConfirmed(to, error))?;
    Ok(moved)
}

/// Copies a server's database to a new file, which is no good before this has succeeded. `seen` is called as
/// it proceeds.
pub fn to_file(
    server: &Arc<ServerAddress>,
    file: &Path,
    seen: &mut dyn FnMut(Progress),
) -> Result<Vec<MovedTable>, MoveError> {
    let (from, to) = (Location::Server(Arc::clone(server)), Location::from(file));
    let unusable = |error: StoreError| MoveError::source(&from, error);
    let source = open_server::for_reading(server).map_err(unusable)?;
    if open::version(&source).map_err(|error| MoveError::Read(from.clone(), error))? == 0 {
        return Err(queries::QueryError::NoTables(server.to_string()).into());
    }
    check_version(&source, &from)?;
    be_alone(&source).map_err(unusable)?;
    if let Some(why) = nodes::not_yet_one(&source).map_err(unusable)? {
        return Err(MoveError::Nodes(from, why));
    }
    let snapshot = "set transaction isolation level repeatable read, read only";
    let begun = source.begin().and_then(|()| source.execute_batch(snapshot));
    begun.map_err(|error| MoveError::Read(from.clone(), error))?;
    let target = new_file(file).map_err(|error| MoveError::target(&to, error))?;
    let failed = |error| MoveError::Write(to.clone(), error);
    target.begin().map_err(failed)?;
    let tables = tables::of(&target, &source)?;
    let moved = fill::fill((&source, &from), (&target, &to), &tables, seen)?;
    numbers::to_file(&source, &target, &tables).map_err(failed)?;
    nodes::become_one(&target).map_err(|error| MoveError::target(&to, error))?;
    target.commit().map_err(failed)?;
    Ok(moved)
}

/// Keeps supervisors out of a server's database.
fn be_alone(connection: &Connection) -> Result<(), StoreError> {
    match connection {
        Connection::Server(session) => Ok(session.be_the_writer()?),
        Connection::Sqlite(_) => Ok(()),
    }
}

/// An empty database for the rows of another one: a failure leaves a file that is thrown away, so nothing in
/// it has to survive one.
fn new_file(file: &Path) -> Result<Connection, StoreError> {
    let made = open::for_writing(file)?;
    if let Some(sqlite) = made.sqlite() {
        sqlite.pragma_update(None, "journal_mode", "off")?;
        sqlite.pragma_update(None, "synchronous", "off")?;
    }
    Ok(made)
}

/// Refuses tables that are not those of this program.
fn check_version(source: &Connection, at: &Location) -> Result<(), MoveError> {
    let found = open::version(source).map_err(|error| MoveError::Read(at.clone(), error))?;
    let (known, location) = (known_version(), at.clone());
    match found {
        _ if found < known => Err(MoveError::Older { location, found, known }),
        _ if found > known => Err(StoreError::Newer { location, found, known }.into()),
        _ => Ok(()),
    }
}

/// Refuses a file with damage that reading its rows might not meet.
fn check_integrity(source: &Connection, at: &Location) -> Result<(), MoveError> {
    let check = source.query_row("pragma integrity_check(1)", [], |row| row.get::<String>(0));
    match check {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(MoveError::Damaged(at.clone(), said)),
        Err(error) if open::is_damage(&error) => Err(MoveError::Damaged(at.clone(), error.to_string())),
        Err(error) => Err(MoveError::Read(at.clone(), error)),
    }
}
