//! Fills an empty database with the rows of another one, and compares the two.

use super::digest::{Digest, MovedTable};
use super::error::MoveError;
use super::put::Put;
use super::rows::{count, read};
use super::tables::Table;
use crate::Location;
use crate::sql::Connection;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It begins to copy so many rows.
    Copying(u64),
    /// It begins to compare so many rows.
    Comparing(u64),
    /// One more row is done.
    Row,
}

/// Refuses a target with a row in one of the tables.
pub(super) fn refuse_rows(target: &Connection, at: &Location, tables: &[Table]) -> Result<(), MoveError> {
    for table in tables {
        let rows = count(target, table).map_err(|error| MoveError::Write(at.clone(), error))?;
        if rows > 0 {
            return Err(MoveError::NotEmpty { location: at.clone(), table: table.name.clone(), rows });
        }
    }
    Ok(())
}

/// Copies all tables, and reads them again from the target: each has to have what its source has.
pub(super) fn fill(
    (source, from): (&Connection, &Location),
    (target, to): (&Connection, &Location),
    tables: &[Table],
    seen: &mut dyn FnMut(Progress),
) -> Result<Vec<MovedTable>, MoveError> {
    let mut total = 0;
    for table in tables {
        let rows = count(source, table).map_err(|error| MoveError::Read(from.clone(), error))?;
        total += rows.unsigned_abs();
    }
    seen(Progress::Copying(total));
    let mut moved = Vec::with_capacity(tables.len());
    for table in tables {
        let (mut put, mut digest) = (Put::new((target, to), table)?, Digest::new(table));
        read((source, from), table, |row| {
            digest.row(&row);
            seen(Progress::Row);
            put.row(row)
        })?;
        put.end()?;
        moved.push(digest.end());
    }
    seen(Progress::Comparing(total));
    for (table, original) in tables.iter().zip(&moved) {
        let mut digest = Digest::new(table);
        read((target, to), table, |row| {
            digest.row(&row);
            seen(Progress::Row);
            Ok(())
        })?;
        compare(original, digest.end())?;
    }
    moved.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(moved)
}

pub(super) fn compare(original: &MovedTable, copy: MovedTable) -> Result<(), MoveError> {
    if *original == copy {
        return Ok(());
    }
    Err(MoveError::Unequal {
        table: copy.name,
        here: original.rows,
        there: copy.rows,
        original: original.sha256.clone(),
        copy: copy.sha256,
    })
}
