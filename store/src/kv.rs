//! Positions, stored in the same transaction as what they count.

use std::borrow::Cow;

use super::StoreError;
use super::sql::{Connection, params};

/// How far the tool server's journal has been read.
pub const JOURNAL_POSITION: &str = "journal.position";
/// Where the part of the journal begins that is checked: moved by pruning and by accepting.
pub const JOURNAL_BASE: &str = "journal.base";
/// That the journal was tampered with; there until somebody accepts it.
pub const JOURNAL_TAMPERED: &str = "journal.tampered";

/// When housekeeping was last begun, in milliseconds since the epoch.
pub const LAST_HOUSEKEEPING: &str = "housekeeping.last";

/// How far the clock has jumped ahead, and to when.
pub const CLOCK_JUMP: &str = "clock.jump";

/// What the tools of the last run reach: one directory a line.
pub const ROOTS: &str = "tools.roots";

/// The configuration directory of the last run, absolute; empty without one.
pub const CONFIG_DIR: &str = "config.directory";

/// When the supervisor last tried whether the database takes changes again.
const LAST_PROBE: &str = "store.last_probe";

/// What the keys begin with that each node has for itself, where several share a database.
const OF_A_NODE: [&str; 7] = [
    "journal.", "housekeeping.", CLOCK_JUMP, ROOTS, CONFIG_DIR,
    // What a node shows of its tasks, and what it read when it began.
    "progress.", "backlog.",
];

/// The key as it is stored.
fn stored<'a>(connection: &Connection, key: &'a str) -> Cow<'a, str> {
    match connection.node() {
        Some(node) if OF_A_NODE.iter().any(|begin| key.starts_with(begin)) => {
            format!("node.{node}.{key}").into()
        }
        _ => key.into(),
    }
}

/// Gives what was stored while the database had no nodes to the node of this connection.
pub(crate) fn adopt(connection: &Connection) -> Result<(), StoreError> {
    for begin in OF_A_NODE {
        let sql = "update kv set key = ?2 || key where key >= ?1 and key < ?3";
        let prefix = format!("node.{}.", connection.node().unwrap_or_default());
        connection.execute(sql, params![begin, prefix, format!("{begin}\u{10ffff}")])?;
    }
    Ok(())
}

pub fn get(connection: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    let key = stored(connection, key);
    Ok(connection.query_optional("select value from kv where key = ?1", [key], |row| row.get(0))?)
}

/// Tries whether the database takes changes. On a server with a full disk only a change does that has to have
/// pages of its own, and is not small when it is compressed.
pub(crate) fn probe(connection: &Connection) -> Result<(), StoreError> {
    const BYTES: usize = 32 * 1024;
    let mut value = protocol::now_ms().to_string();
    if connection.sqlite().is_none() {
        let mut bytes = vec![0; BYTES];
        getrandom::fill(&mut bytes).map_err(|_| StoreError::NoRandomness)?;
        value.extend(bytes.into_iter().map(|byte| char::from(b'!' + byte % 64)));
    }
    set(connection, LAST_PROBE, &value)
}

/// The keys that begin like this, without that beginning, with their values.
pub fn beginning_with(connection: &Connection, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
    // A range, so that the table's key is used: nothing that follows the prefix sorts behind U+10FFFF.
    let sql = "select substr(key, length(?1) + 1), value from kv where key > ?1 and key < ?2 order by key";
    let prefix = stored(connection, prefix);
    Ok(connection
        .query_all(sql, [&*prefix, &format!("{prefix}\u{10ffff}")], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

pub fn remove(connection: &Connection, key: &str) -> Result<(), StoreError> {
    let key = stored(connection, key);
    connection.execute("delete from kv where key = ?1", [key])?;
    Ok(())
}

pub fn set(connection: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    let sql =
        "insert into kv (key, value) values (?1, ?2) on conflict (key) do update set value = excluded.value";
    connection.execute(sql, params![stored(connection, key), value])?;
    Ok(())
}
