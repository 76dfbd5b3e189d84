//! Which tables there are, as the two databases say it themselves.

use super::error::MoveError;
use crate::sql::{self, Connection, Row, Value, params, params_from_iter};

/// A table that both have.
#[derive(Debug)]
pub(super) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// The columns that order its rows and name each; never null.
    pub key: Vec<String>,
    /// The tables whose rows its own refer to.
    refers_to: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Column {
    pub name: String,
    /// Its type, as the server calls it.
    pub server_type: String,
    /// What the server numbers new rows by, if it numbers them in this column.
    pub sequence: Option<String>,
}

impl Table {
    #[cfg(test)]
    pub(super) fn for_tests(name: &str, columns: Vec<Column>) -> Self {
        let key = columns.iter().take(1).map(|column| column.name.clone()).collect();
        Self { name: name.to_owned(), columns, key, refers_to: Vec::new() }
    }

    /// The columns, quoted and separated by commas.
    pub(super) fn columns(&self) -> String {
        list(self.columns.iter().map(|column| &column.name))
    }

    /// The key, in the same form.
    pub(super) fn order(&self) -> String {
        list(&self.key)
    }

    /// A row in words: its table and its key.
    pub(super) fn row_in_words(&self, values: &[Value]) -> String {
        let mut named = Vec::new();
        for (column, value) in self.columns.iter().zip(values) {
            let words = match value {
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => text.replace('\0', "\u{fffd}"),
                Value::Null | Value::Real(_) | Value::Blob(_) => continue,
            };
            if self.key.contains(&column.name) {
                named.push(format!("{} {words}", column.name));
            }
        }
        format!("the row of {} with {}", self.name, named.join(", "))
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// All tables of a file, each after those that it refers to, as the server has them, too.
pub(super) fn of(file: &Connection, server: &Connection) -> Result<Vec<Table>, MoveError> {
    let unread = |error: sql::Error| MoveError::OtherTables(format!("they cannot be compared ({error})"));
    let names = texts(
        file,
        "select name from pragma_table_list where schema = 'main' and type = 'table'
         and name not glob 'sqlite_*' order by name",
        None,
    )
    .map_err(unread)?;
    let mut tables = Vec::new();
    for name in names {
        let of_file = texts(file, "select name from pragma_table_info(?1)", Some(&name)).map_err(unread)?;
        let columns = columns_of_server(server, &name).map_err(unread)?;
        compare(&name, &of_file, &columns)?;
        let key = key(server, &name).map_err(unread)?;
        if key.is_empty() {
            return Err(MoveError::OtherTables(format!("{name} has no key")));
        }
        let referred = "select distinct \"table\" from pragma_foreign_key_list(?1)";
        let refers_to = texts(file, referred, Some(&name)).map_err(unread)?;
        tables.push(Table { name, columns, key, refers_to });
    }
    Ok(in_order(tables))
}

fn texts(connection: &Connection, sql: &str, table: Option<&str>) -> sql::Result<Vec<String>> {
    connection.query_all(sql, params_from_iter(table), |row| row.get(0))
}

fn columns_of_server(server: &Connection, table: &str) -> sql::Result<Vec<Column>> {
    let sql = "select cast(column_name as text), cast(data_type as text),
                   pg_get_serial_sequence(quote_ident(table_name), column_name)
               from information_schema.columns
               where table_schema = current_schema() and table_name = ?1 order by ordinal_position";
    let read =
        |row: &Row<'_>| Ok(Column { name: row.get(0)?, server_type: row.get(1)?, sequence: row.get(2)? });
    server.query_all(sql, params![table], read)
}

/// The columns of the primary key, else of another constraint that each row has values of its own for.
fn key(server: &Connection, table: &str) -> sql::Result<Vec<String>> {
    let sql = "select cast(attribute.attname as text)
        from pg_attribute as attribute
        join (
            select indrelid, indkey from pg_index as one
            where indrelid = cast(quote_ident(?1) as regclass) and indisunique
                and indpred is null and indexprs is null and not exists (
                    select 1 from pg_attribute
                    where attrelid = one.indrelid and attnum = any (one.indkey) and not attnotnull)
            order by indisprimary desc, indexrelid limit 1
        ) as best on attribute.attrelid = best.indrelid and attribute.attnum = any (best.indkey)
        order by array_position(cast(best.indkey as int2[]), attribute.attnum)";
    texts(server, sql, Some(table))
}

/// Refuses columns that one of them lacks. SQLite has the server's `rowid` without saying so.
fn compare(table: &str, of_file: &[String], of_server: &[Column]) -> Result<(), MoveError> {
    if of_server.is_empty() {
        return Err(MoveError::OtherTables(format!("the server has no table {table}")));
    }
    let missing = of_file.iter().find(|name| of_server.iter().all(|column| column.name != **name));
    if let Some(name) = missing {
        return Err(MoveError::OtherTables(format!("the server's {table} has no column {name}")));
    }
    let more = of_server.iter().find(|column| column.name != "rowid" && !of_file.contains(&column.name));
    match more {
        Some(column) => {
            Err(MoveError::OtherTables(format!("the file's {table} has no column {}", column.name)))
        }
        None => Ok(()),
    }
}

/// The tables, each after those that it refers to, and otherwise by their names.
fn in_order(mut left: Vec<Table>) -> Vec<Table> {
    let mut placed: Vec<Table> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_ready = |table: &Table| {
            let others = table.refers_to.iter().filter(|name| **name != table.name);
            others.into_iter().all(|name| placed.iter().any(|before| before.name == *name))
        };
        // In a circle, none is: the engine says which row it refuses.
        let next = left.iter().position(is_ready).unwrap_or(0);
        placed.push(left.remove(next));
    }
    placed
}

#[cfg(test)]
mod order {
    use super::*;

    fn table(name: &str, refers_to: &[&str]) -> Table {
        let refers_to = refers_to.iter().map(|name| (*name).to_owned()).collect();
        Table { name: name.to_owned(), columns: Vec::new(), key: Vec::new(), refers_to }
    }

    #[test]
    fn a_table_comes_after_those_that_it_refers_to() {
        let names = |tables| in_order(tables).into_iter().map(|table| table.name).collect::<Vec<_>>();
        let tables = vec![table("a", &["c", "a"]), table("b", &[]), table("c", &["b"])];
        assert_eq!(names(tables), ["b", "c", "a"]);
        assert_eq!(names(vec![table("a", &["b"]), table("b", &["a"])]), ["a", "b"], "a circle ends, too");
    }
}
