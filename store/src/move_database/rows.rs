//! Reads all rows of a table, in the order of its key and a few at a time.

use super::error::MoveError;
use super::tables::{Table, quoted};
use crate::Location;
use crate::sql::{self, Connection, Row, Value, ValueRef};

/// So many rows of a server are in memory at a time; the largest have half a megabyte.
const TOGETHER: usize = 100;

/// Calls `each` with every row. The connection is in a transaction.
pub(super) fn read(
    (connection, at): (&Connection, &Location),
    table: &Table,
    mut each: impl FnMut(Vec<Value>) -> Result<(), MoveError>,
) -> Result<(), MoveError> {
    let failed = |error: sql::Error| MoveError::Read(at.clone(), error);
    let (columns, name, order) = (table.columns(), quoted(&table.name), table.order());
    let all = format!("select {columns} from {name} order by {order}");
    let mut rows_of = |sql: &str| -> Result<usize, MoveError> {
        let mut statement = connection.prepare(sql).map_err(failed)?;
        let (mut rows, mut count) = (statement.query([]).map_err(failed)?, 0);
        while let Some(row) = rows.next().map_err(failed)? {
            count += 1;
            each(values(&row, table, at)?)?;
        }
        Ok(count)
    };
    if let Connection::Sqlite(_) = connection {
        return rows_of(&all).map(drop);
    }
    let cursor = quoted(&format!("rows of {}", table.name));
    connection.execute_batch(&format!("declare {cursor} no scroll cursor for {all}")).map_err(failed)?;
    let next = format!("fetch {TOGETHER} from {cursor}");
    while rows_of(&next)? == TOGETHER {}
    connection.execute_batch(&format!("close {cursor}")).map_err(failed)
}

/// The values of a row, whose texts can be kept by both engines.
fn values(row: &Row<'_>, table: &Table, at: &Location) -> Result<Vec<Value>, MoveError> {
    let mut values = Vec::with_capacity(table.columns.len());
    let mut wrong = None;
    for (number, column) in table.columns.iter().enumerate() {
        let value = row.get_ref(number).map_err(|error| MoveError::Read(at.clone(), error))?;
        if let ValueRef::Text(bytes) = value {
            let text = std::str::from_utf8(bytes);
            let is_bad = text.map_or(Some(false), |text| text.contains('\0').then_some(true));
            wrong = wrong.or(is_bad.map(|has_nul| (column, has_nul)));
            values.push(Value::Text(String::from_utf8_lossy(bytes).into_owned()));
        } else {
            values.push(
                Value::try_from(value)
                    .map_err(|error| MoveError::Read(at.clone(), sql::Error::unreadable(number, error)))?,
            );
        }
    }
    let Some((column, has_nul)) = wrong else { return Ok(values) };
    let (row, column) = (table.row_in_words(&values), column.name.clone());
    Err(if has_nul { MoveError::Nul { row, column } } else { MoveError::NoText { row, column } })
}

/// How many rows a table has.
pub(super) fn count(connection: &Connection, table: &Table) -> sql::Result<i64> {
    let sql = format!("select count(*) from {}", quoted(&table.name));
    connection.query_row(&sql, [], |row| row.get(0))
}
