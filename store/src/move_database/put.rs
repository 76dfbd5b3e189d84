//! Writes rows into an empty table, exactly as they were read: no trigger adds to them.

use rusqlite::config::DbConfig;
use serde_json::{Map, Number, Value as Json};

use super::error::MoveError;
use super::tables::{Column, Table, quoted};
use crate::Location;
use crate::sql::{self, Connection, Value, params, params_from_iter};

/// A server gets at most about so many bytes with one statement,
const MOST_BYTES: usize = 1024 * 1024;

/// and so many rows.
const MOST_ROWS: usize = 1000;

/// The writer of one table.
pub(super) struct Put<'a> {
    connection: &'a Connection,
    at: &'a Location,
    table: &'a Table,
    statement: String,
    /// What a server has not been sent yet.
    waiting: Vec<Vec<Value>>,
    bytes: usize,
}

impl<'a> Put<'a> {
    /// Begins to write. Until [`Put::end`], the table's triggers do not run.
    pub(super) fn new(
        (connection, at): (&'a Connection, &'a Location),
        table: &'a Table,
    ) -> Result<Self, MoveError> {
        let off = set_triggers(connection, &table.name, false);
        off.map_err(|error| MoveError::Write(at.clone(), error))?;
        let statement = match connection {
            Connection::Sqlite(_) => for_file(table),
            Connection::Server(_) => for_server(table),
        };
        Ok(Self { connection, at, table, statement, waiting: Vec::new(), bytes: 0 })
    }

    pub(super) fn row(&mut self, values: Vec<Value>) -> Result<(), MoveError> {
        if let Connection::Sqlite(_) = self.connection {
            let added = self.connection.execute(&self.statement, params_from_iter(&values));
            return added.map(drop).map_err(|error| self.failure(&values, error));
        }
        self.bytes += values.iter().map(size).sum::<usize>();
        self.waiting.push(values);
        if self.bytes < MOST_BYTES && self.waiting.len() < MOST_ROWS { Ok(()) } else { self.send() }
    }

    /// Sends what waits. If the server refuses it, finds the row.
    fn send(&mut self) -> Result<(), MoveError> {
        let rows = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let failed = |error| MoveError::Write(self.at.clone(), error);
        self.connection.execute_batch("savepoint several").map_err(failed)?;
        let Err(error) = self.insert(&rows) else {
            return self.connection.execute_batch("release several").map_err(failed);
        };
        if self.connection.execute_batch("rollback to several").is_ok() {
            for row in rows.chunks(1) {
                self.insert(row).map_err(|error| self.failure(&row[0], error))?;
            }
        }
        Err(MoveError::Write(self.at.clone(), error))
    }

    fn insert(&self, rows: &[Vec<Value>]) -> sql::Result<()> {
        let rows = rows.iter().map(|row| as_json(self.table, row)).collect();
        self.connection.execute(&self.statement, params![Json::Array(rows).to_string()]).map(drop)
    }

    fn failure(&self, row: &[Value], cause: sql::Error) -> MoveError {
        let location = self.at.clone();
        if cause.is_away() || is_about_the_disk(&cause) {
            return MoveError::Write(location, cause);
        }
        MoveError::Refused { location, row: self.table.row_in_words(row), cause: Box::new(cause) }
    }

    /// Writes what is left, and lets triggers run again.
    pub(super) fn end(mut self) -> Result<(), MoveError> {
        self.send()?;
        let on = set_triggers(self.connection, &self.table.name, true);
        on.map_err(|error| MoveError::Write(self.at.clone(), error))
    }
}

/// Whether SQLite refused nothing, but could not write.
fn is_about_the_disk(error: &sql::Error) -> bool {
    use rusqlite::ErrorCode::{DiskFull, OutOfMemory, SystemIoFailure};
    error.sqlite_error_code().is_some_and(|code| [DiskFull, OutOfMemory, SystemIoFailure].contains(&code))
}

/// The owner of a table may switch off its own triggers, but not those that guard references.
fn set_triggers(connection: &Connection, table: &str, is_on: bool) -> sql::Result<()> {
    let table = quoted(table);
    match connection {
        Connection::Sqlite(file) => {
            Ok(file.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, is_on).map(drop)?)
        }
        // A server plans by what it knows of a table, and learns of so many rows only later.
        Connection::Server(_) if is_on => {
            connection.execute_batch(&format!("alter table {table} enable trigger user; analyze {table}"))
        }
        Connection::Server(_) => {
            connection.execute_batch(&format!("alter table {table} disable trigger user"))
        }
    }
}

fn for_file(table: &Table) -> String {
    let places = vec!["?"; table.columns.len()].join(", ");
    format!("insert into {} ({}) values ({places})", quoted(&table.name), table.columns())
}

/// One parameter has all rows: an array of JSON objects.
fn for_server(table: &Table) -> String {
    let each = |write: fn(&Column) -> String| table.columns.iter().map(write).collect::<Vec<_>>().join(", ");
    let values = each(|column| match column.server_type.as_str() {
        "bytea" => format!("decode({}, 'hex')", quoted(&column.name)),
        _ => quoted(&column.name),
    });
    let types = each(|column| match column.server_type.as_str() {
        "bytea" => format!("{} text", quoted(&column.name)),
        other => format!("{} {other}", quoted(&column.name)),
    });
    let (name, columns) = (quoted(&table.name), table.columns());
    format!(
        "insert into {name} ({columns})
         select {values} from json_to_recordset(cast(?1 as json)) as given ({types})"
    )
}

fn as_json(table: &Table, row: &[Value]) -> Json {
    let named = table.columns.iter().zip(row);
    Json::Object(
        named.map(|(column, value)| (column.name.clone(), value_as_json(value))).collect::<Map<_, _>>(),
    )
}

fn value_as_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => Json::from(*number),
        Value::Real(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(text.clone()),
        Value::Blob(bytes) => Json::String(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Integer(_) | Value::Real(_) => 16,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len() * 2,
    }
}
