//! Copies of the database files of a stopped supervisor, opened elsewhere: what a power cut would leave
//! behind if the kernel had written everything to disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rustix::process::Signal;

use crate::{FakeTelegram, Random, System, signals};

/// The database file; the names of the others start with it.
const DATABASE: &str = "autonous.db";

#[derive(Debug, Default)]
pub(super) struct Copies {
    pub(super) taken: usize,
    /// Updates confirmed to Telegram, over all copies.
    pub(super) confirmed: usize,
    pub(super) faults: Vec<String>,
}

impl Copies {
    /// Stops the supervisor, copies its database files, lets it continue, and checks the copy. Nothing is
    /// copied of a database on a server.
    pub(super) fn take(&mut self, system: &System, telegram: &FakeTelegram, random: &mut Random) {
        if system.database().file().is_none() {
            return;
        }
        let dir = tempfile::tempdir().expect("the temporary directory is writable");
        let supervisor = system.supervisor_pid();
        signals::stop(supervisor);
        let confirmed = telegram.confirmed();
        copy(&system.dir().data().join("db"), dir.path(), random.below(2) == 0);
        signals::send(supervisor, Signal::CONT);
        self.taken += 1;
        self.confirmed += confirmed.len();
        if let Err(fault) = look(&dir.path().join(DATABASE), &confirmed) {
            self.faults.push(format!("copy {}: {fault}", self.taken));
        }
    }
}

/// Copies the database and its log. SQLite can rebuild the log's index, so half of the copies omit it.
fn copy(from: &Path, to: &Path, with_index: bool) {
    for ending in ["", "-wal", "-shm"] {
        let name = format!("{DATABASE}{ending}");
        if from.join(&name).exists() && (with_index || ending != "-shm") {
            fs::copy(from.join(&name), to.join(&name)).expect("a database file can be copied");
        }
    }
}

/// Checks that a database is intact and has every update that was confirmed to Telegram.
fn look(database: &Path, confirmed: &BTreeSet<i64>) -> Result<(), String> {
    let connection = checked(database).map_err(|fault| format!("integrity_check: {fault}"))?;
    if confirmed.is_empty() {
        return Ok(());
    }
    let stored = stored_updates(&connection).map_err(|error| error.to_string())?;
    let missing: Vec<&i64> = confirmed.difference(&stored).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("confirmed but not stored: {missing:?}")) }
}

/// Opens a database, or returns what `integrity_check` reports.
pub(super) fn checked(database: &Path) -> Result<Connection, String> {
    let connection = Connection::open(database).map_err(|error| error.to_string())?;
    let result = connection.query_row("pragma integrity_check", [], |row| row.get(0));
    let result: String = result.map_err(|error| error.to_string())?;
    if result == "ok" { Ok(connection) } else { Err(result) }
}

fn stored_updates(connection: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
    let mut query =
        connection.prepare("select cast(update_id as integer) from inbox where update_id is not null")?;
    query.query_map([], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_without_a_confirmed_update_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join(DATABASE);
        let connection = Connection::open(&database).unwrap();
        connection
            .execute_batch("create table inbox (update_id text); insert into inbox values (7);")
            .unwrap();
        assert_eq!(look(&database, &BTreeSet::from([7])), Ok(()));
        assert!(look(&database, &BTreeSet::from([7, 8])).unwrap_err().contains("[8]"));
    }

    #[test]
    fn a_copy_that_is_not_a_database_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join(DATABASE);
        fs::write(&database, "x".repeat(8192)).unwrap();
        assert!(look(&database, &BTreeSet::new()).is_err());
    }
}
