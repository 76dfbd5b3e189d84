//! The next row gets the number that it would have got before the move.
//!
//! SQLite numbers on from the largest number of a table, or, where the table says `autoincrement`, from the
//! largest that it ever had. A server numbers on from a sequence.

use super::tables::{Table, quoted};
use crate::sql::{Connection, Result, params};

/// Sets the server's sequences to what the file would count on from. Undone with the transaction, which
/// `setval` is not.
pub(super) fn to_server(file: &Connection, server: &Connection, tables: &[Table]) -> Result<()> {
    for (table, column, sequence) in numbered(tables) {
        let last = last_of_file(file, table, column)?;
        let next = last.max(0).saturating_add(1);
        server.execute_batch(&format!("alter sequence {sequence} restart with {next}"))?;
    }
    Ok(())
}

/// Sets what the file counts on from to the server's sequences.
pub(super) fn to_file(server: &Connection, file: &Connection, tables: &[Table]) -> Result<()> {
    for (table, column, sequence) in numbered(tables) {
        if !remembers(file, table)? {
            continue;
        }
        let (value, is_used): (i64, i64) =
            server.query_row(&format!("select last_value, is_called from {sequence}"), [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let last = if is_used == 1 { value } else { value.saturating_sub(1) };
        let last = last.max(last_of_file(file, table, column)?);
        file.execute("delete from sqlite_sequence where name = ?1", params![table.name])?;
        file.execute("insert into sqlite_sequence (name, seq) values (?1, ?2)", params![table.name, last])?;
    }
    Ok(())
}

/// Each table with its column that is numbered, and with the server's sequence.
fn numbered(tables: &[Table]) -> impl Iterator<Item = (&Table, &str, &str)> {
    tables.iter().flat_map(|table| {
        let columns = table.columns.iter();
        columns.filter_map(move |column| Some((table, column.name.as_str(), column.sequence.as_deref()?)))
    })
}

/// The largest number of a table; 0 if it never had one.
fn last_of_file(file: &Connection, table: &Table, column: &str) -> Result<i64> {
    let (column, name) = (quoted(column), quoted(&table.name));
    let sql = format!("select coalesce(max({column}), 0) from {name}");
    let largest: i64 = file.query_row(&sql, [], |row| row.get(0))?;
    let kept = "select seq from sqlite_sequence where name = ?1";
    let kept: Option<i64> = file.query_optional(kept, params![table.name], |row| row.get(0))?;
    Ok(largest.max(kept.unwrap_or(0)))
}

/// Whether a file numbers on from the largest number that the table ever had.
fn remembers(file: &Connection, table: &Table) -> Result<bool> {
    let sql = "select 1 from sqlite_schema where type = 'table' and name = ?1
               and sql like '%autoincrement%'";
    Ok(file.query_optional(sql, params![table.name], |_| Ok(()))?.is_some())
}
