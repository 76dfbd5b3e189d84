//! Rows of every table go to a server and back. Where no server is given, only what needs none is tested.

use std::path::Path;
use std::sync::Arc;

use super::digest::{Digest, MovedTable};
use super::tables::{Column, Table};
use super::{Connection, Location, Progress, ServerAddress, known_version, open_server, to_file, to_server};
use crate::fixture::{Place, TestDatabase, on};
use crate::open;
use crate::sql::Value;

/// At least one row of each table, as no trigger makes it; what is hard to copy is among it.
const ROWS: &str = include_str!("rows_of_every_table.sql");

/// A database with [`ROWS`].
fn full() -> TestDatabase {
    let database = TestDatabase::in_a_file();
    database.execute_batch(ROWS).unwrap();
    for table in tables_of(&database) {
        let rows = database.column::<i64>(&format!("select count(*) from {table}"))[0];
        assert!(rows > 0, "{table} is new: add a row of it to rows_of_every_table.sql");
    }
    database
}

fn tables_of(database: &Connection) -> Vec<String> {
    let sql = "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name";
    database.query_all(sql, [], |row| row.get(0)).unwrap()
}

/// An empty schema of a server, if one is given.
fn server() -> Option<(Place, Arc<ServerAddress>)> {
    let place = Place::new();
    let Location::Server(address) = &place.location else { return None };
    let address = Arc::clone(address);
    Some((place, address))
}

fn file_of(database: &TestDatabase) -> &Path {
    database.location().file().unwrap()
}

/// All rows of a file, each with its table.
fn dump(file: &Connection) -> Vec<String> {
    let mut lines = Vec::new();
    let others = ["sqlite_sequence", "(select rowid, * from questions)"].map(str::to_owned);
    for table in tables_of(file).into_iter().chain(others) {
        let rows = file.query_all(&format!("select * from {table}"), [], |row| row.values()).unwrap();
        lines.extend(rows.iter().map(|row| format!("{table} {row:?}")));
    }
    lines.sort();
    lines
}

fn number_of(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn rows_of_every_table_go_to_a_server_and_back_and_the_next_ones_count_on() {
    let Some((_place, server)) = server() else { return };
    let database = full();
    let (before, mut steps) = (dump(&database), Vec::new());
    let moved = to_server(file_of(&database), &server, &mut |step| steps.push(step)).unwrap();
    assert_eq!(moved.iter().map(|table| &*table.name).collect::<Vec<_>>(), tables_of(&database));
    let rows: u64 = moved.iter().map(|table| table.rows).sum();
    assert_eq!((steps[0], steps.len()), (Progress::Copying(rows), 2 * usize::try_from(rows).unwrap() + 2));
    assert_eq!(dump(&database), before, "the source stays");
    let again = to_server(file_of(&database), &server, &mut |_| {}).unwrap_err().to_string();
    assert!(again.contains("is not empty") && again.contains("Nothing was changed"), "{again}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("back.db");
    // A file has no nodes: what they have not read has to be read before.
    let refused = to_file(&server, &file, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("were received and not read"), "{refused}");
    let of_nodes = "delete from received; delete from chats; delete from leaders; delete from nodes;";
    open::for_writing(Location::Server(Arc::clone(&server))).unwrap().execute_batch(of_nodes).unwrap();
    database.execute_batch(of_nodes).unwrap();
    let before = dump(&database);
    let others = |mut tables: Vec<MovedTable>| {
        tables.retain(|table| !["received", "chats", "leaders", "nodes"].contains(&&*table.name));
        tables
    };
    let copied = to_file(&server, &file, &mut |_| {}).unwrap();
    assert_eq!(others(copied), others(moved), "with the same hashes");
    let back = open::for_writing(&file).unwrap();
    assert_eq!(dump(&back), before);
    assert_eq!(number_of(&back, "select count(*) from pragma_foreign_key_check"), 0);
    assert_eq!(back.query_row("pragma integrity_check", [], |row| row.get::<String>(0)).unwrap(), "ok");

    let there = open::for_writing(Location::Server(server)).unwrap();
    for each in [&there, &back] {
        let event = "insert into events (id, type, time_ms, payload) values ('new', 'a.b', 1, '{}')";
        each.execute(event, []).unwrap();
        assert_eq!(number_of(each, "select seq from events where id = 'new'"), 901, "many were deleted");
        each.execute("insert into parts (task_id, text) values ('t1', 'new')", []).unwrap();
        assert_eq!(number_of(each, "select seq from parts where text = 'new'"), 13);
        let question = "insert into questions (approval_id, channel, chat_id) values ('new', 'a', 'b')";
        each.execute(question, []).unwrap();
        assert_eq!(number_of(each, "select rowid from questions where approval_id = 'new'"), 42);
        // The triggers run again.
        assert!(each.execute("update events set type = 'b.c'", []).is_err());
        each.execute("update inbox set steps_aside = 1 where id = 't2'", []).unwrap();
        let turns = "select count(*) from chat_turns where next_seq is null and last_turn = 41";
        assert_eq!(number_of(each, turns), 1);
    }
}

#[test]
fn a_table_that_this_program_does_not_know_yet_is_moved_like_the_others() {
    let Some((_place, server)) = server() else { return };
    let database = TestDatabase::in_a_file();
    let later = "create table later (id integer primary key, \"a name\" text, bytes blob) strict;
                 insert into later values (3, 'x', x'00ff'), (-4, '', null)";
    database.execute_batch(later).unwrap();
    let refused = to_server(file_of(&database), &server, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("the server has no table later"), "{refused}");
    on(&server, "create table later (id bigint primary key, \"a name\" text, bytes bytea)");
    let moved = to_server(file_of(&database), &server, &mut |_| {}).unwrap();
    assert_eq!(moved.iter().find(|table| table.name == "later").unwrap().rows, 2);
    let there = open::for_writing(Location::Server(server)).unwrap();
    assert_eq!(number_of(&there, "select sum(id) from later where bytes is null or \"a name\" = 'x'"), -1);
}

/// Nothing of a failed move is on the server, not even tables.
fn assert_untouched(server: &Arc<ServerAddress>) {
    let connection = open_server::for_reading(server).unwrap();
    assert_eq!(open::version(&connection).unwrap(), 0);
}

#[test]
fn a_row_that_the_server_cannot_keep_is_named_and_nothing_is_changed() {
    let Some((_place, server)) = server() else { return };
    for (change, named) in [
        (
            "insert into kv values ('a key', 'b' || char(0))",
            "value of the row of kv with key a key has a NUL character",
        ),
        (
            "insert into kv values ('a key', cast(x'ff' as text))",
            "value of the row of kv with key a key is not UTF-8",
        ),
        (
            "pragma ignore_check_constraints = on;
             insert into schedules (id, channel, chat_id, text, timezone, next_at_ms, created_at_ms,
                 updated_at_ms)
             values ('one', 'a', 'b', 'c', 'd', 1, 1, 1), ('two', 'a', 'b', '', 'd', 1, 1, 1)",
            "refuses the row of schedules with id two: PostgreSQL: new row for relation",
        ),
    ] {
        let database = TestDatabase::in_a_file();
        database.execute_batch(change).unwrap();
        let refused = to_server(file_of(&database), &server, &mut |_| {}).unwrap_err().to_string();
        assert!(refused.contains(named) && refused.contains("Nothing was moved"), "{refused}");
        assert_untouched(&server);
    }
}

#[test]
fn a_database_that_is_in_use_or_has_other_tables_stays_as_it_is() {
    let Some((_place, server)) = server() else { return };
    let database = TestDatabase::in_a_file();
    let location = Location::Server(Arc::clone(&server));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new.db");
    let no_tables = to_file(&server, &file, &mut |_| {}).unwrap_err().to_string();
    assert!(no_tables.contains("has no tables"), "{no_tables}");
    let writer = open::for_the_writer(location.clone()).unwrap();
    for refused in [
        to_server(file_of(&database), &server, &mut |_| {}).unwrap_err(),
        to_file(&server, &file, &mut |_| {}).unwrap_err(),
    ] {
        assert!(refused.to_string().contains("another supervisor uses this database"), "{refused}");
    }
    writer.execute("update schema_version set version = version + 1", []).unwrap();
    drop(writer);
    let newer = to_server(file_of(&database), &server, &mut |_| {}).unwrap_err().to_string();
    assert!(newer.contains("only knows version"), "{newer}");
    let newer = to_file(&server, &file, &mut |_| {}).unwrap_err().to_string();
    assert!(newer.contains("only knows version"), "{newer}");
    let older = format!("update schema_version set version = {}", known_version() - 1);
    on(&server, &older);
    let older = to_file(&server, &file, &mut |_| {}).unwrap_err().to_string();
    assert!(older.contains("Start the supervisor once"), "{older}");
    let own =
        format!("update schema_version set version = {}; insert into kv values ('a', 'b')", known_version());
    on(&server, &own);
    let full = to_server(file_of(&database), &server, &mut |_| {}).unwrap_err().to_string();
    assert!(full.contains("its table kv has 1 rows"), "{full}");
    assert!(!file.exists(), "no file was made");
}

#[test]
fn a_file_that_cannot_be_moved_is_refused_before_the_server_is_asked() {
    let nowhere = Arc::new(ServerAddress::parse("postgres://ada:hidden@127.0.0.1:1/a").unwrap());
    let refused = |file: &Path| to_server(file, &nowhere, &mut |_| {}).unwrap_err().to_string();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.db");
    assert!(refused(&file).contains("no database at"));
    drop(open::for_writing(&file).unwrap());
    let away = refused(&file);
    assert!(away.contains("postgres://ada@127.0.0.1:1/a cannot be written"), "{away}");
    assert!(away.contains("Nothing was moved") && !away.contains("hidden"), "{away}");
    let version = |version: i64| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    version(known_version() - 1);
    assert!(refused(&file).contains("Start the supervisor once"));
    version(known_version() + 1);
    assert!(refused(&file).contains("only knows version"));
    version(known_version());
    // A page in the middle.
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let damaged = refused(&file);
    assert!(damaged.contains("is damaged") && damaged.contains("backup"), "{damaged}");
}

fn column(name: &str) -> Column {
    Column { name: name.to_owned(), server_type: String::new(), sequence: None }
}

#[test]
fn a_hash_tells_values_apart_that_look_alike() {
    let table = Table::for_tests("a", vec![column("a"), column("b")]);
    let hash = |rows: &[[Value; 2]]| {
        let mut digest = Digest::new(&table);
        rows.iter().for_each(|row| digest.row(row));
        digest.end().sha256
    };
    let text = |text: &str| Value::Text(text.to_owned());
    let rows = [
        [text(""), Value::Null],
        [Value::Null, text("")],
        [text("ab"), text("c")],
        [text("a"), text("bc")],
        [Value::Integer(1), text("c")],
        [text("1"), text("c")],
        [Value::Blob(b"1".to_vec()), text("c")],
    ];
    let hashes: std::collections::BTreeSet<String> =
        rows.iter().map(|row| hash(std::slice::from_ref(row))).collect();
    assert_eq!(hashes.len(), rows.len());
    assert_ne!(hash(&rows[..2]), hash(&[rows[1].clone(), rows[0].clone()]), "the order counts");
}

#[test]
fn a_copy_that_differs_is_found() {
    let (original, copy) = (full(), full());
    copy.execute("update kv set value = ' ' where key = ''", []).unwrap();
    let columns = ["key", "value"].map(column).into_iter().collect();
    let table = Table::for_tests("kv", columns);
    let read = |database: &TestDatabase| {
        let mut digest = Digest::new(&table);
        let each = |row: Vec<Value>| {
            digest.row(&row);
            Ok(())
        };
        super::rows::read((database, database.location()), &table, each).unwrap();
        digest.end()
    };
    let (original, copy) = (read(&original), read(&copy));
    let found = super::fill::compare(&original, copy).unwrap_err().to_string();
    assert!(found.contains("the copy of the table kv is not its source"), "{found}");
    super::fill::compare(&original, original.clone()).unwrap();
}
