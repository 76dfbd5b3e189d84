//! What a channel delivered to the leader, until the node of its chat has read it.

use channel::ChannelName;
use channel::update::Update;
use protocol::EventId;

use super::membership::LEASE;
use super::sql::{Connection, Row, params};
use super::{StoreError, kv, nodes};

/// The most that is read at once.
const BATCH: u32 = 100;

/// What waits for this node.
#[derive(Debug, Default)]
pub struct Waiting {
    /// In the order in which it came.
    pub updates: Vec<Update>,
    /// Their rows.
    pub rows: Vec<i64>,
    /// Whether there is no more, and the leader has nothing left of what came while nothing ran.
    pub is_all: bool,
}

/// Whether a node leads: one that was taken for dead stores nothing any more.
pub fn is_led(connection: &Connection, epoch: i64) -> Result<bool, StoreError> {
    let newest = "select max(epoch) from leaders";
    Ok(connection.query_row(newest, [], |row| row.get::<Option<i64>>(0))? == Some(epoch))
}

/// Stores updates for the nodes of their chats.
pub fn store(
    connection: &Connection,
    channel: &ChannelName,
    updates: &[Update],
    run: &EventId,
) -> Result<(), StoreError> {
    for update in updates {
        nodes::place(connection, &update.chat, run)?;
        let sql = "insert into received (channel, chat_id, change) values (?1, ?2, ?3)";
        let json = serde_json::to_string(update)?;
        connection.execute(sql, params![channel.as_str(), update.chat.id, json])?;
    }
    Ok(())
}

/// Notes that the newest leader has received what waited while nothing ran.
pub fn set_through(connection: &Connection, channel: &ChannelName) -> Result<(), StoreError> {
    let newest = connection.query_row("select coalesce(max(epoch), 0) from leaders", [], |row| row.get(0))?;
    kv::set(connection, &through(channel), &i64::to_string(&newest))
}

/// Whether a leader is there that has.
fn is_through(connection: &Connection, channel: &ChannelName) -> Result<bool, StoreError> {
    let sql = "select epoch from leaders where until_ms > server_ms() - ?1 order by epoch desc limit 1";
    let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    let epoch = connection.query_optional(sql, [lease], |row| row.get::<i64>(0))?;
    let through = kv::get(connection, &through(channel))?;
    Ok(epoch.is_some_and(|epoch| through.is_some_and(|through| through == epoch.to_string())))
}

fn through(channel: &ChannelName) -> String {
    format!("{channel}.through")
}

/// What waits for this node.
pub fn waiting(connection: &Connection, channel: &ChannelName) -> Result<Waiting, StoreError> {
    let sql = format!(
        "select seq, change from received where channel = ?1 /* here: received */ order by seq limit {BATCH}"
    );
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows: Vec<(i64, String)> = connection.query_all(&sql, [channel.as_str()], read)?;
    let is_last = rows.len() < usize::try_from(BATCH).unwrap_or(usize::MAX);
    let is_all = is_last && is_through(connection, channel)?;
    let updates = rows.iter().map(|(_, json)| serde_json::from_str(json)).collect::<Result<_, _>>()?;
    Ok(Waiting { updates, rows: rows.into_iter().map(|(seq, _)| seq).collect(), is_all })
}

/// Removes what this node has read. A chat that was moved here meanwhile may have older rows, which stay.
pub fn remove(connection: &Connection, rows: &[i64]) -> Result<(), StoreError> {
    let delete = |row| connection.execute("delete from received where seq = ?1", [row]).map(drop);
    Ok(rows.iter().try_for_each(delete)?)
}

#[cfg(test)]
mod tests {
    use channel::update::Kind;

    use super::*;
    use crate::fixture::{CHANNEL, TestDatabase, test_chat};

    #[test]
    fn new_chats_that_come_at_once_are_spread_although_a_node_is_at_work() {
        let database = TestDatabase::new();
        for name in ["a", "b"] {
            let node =
                "insert into nodes (name, started_at_ms, seen_at_ms, state) values (?1, 1, 1, 'active')";
            database.execute(node, [name]).unwrap();
        }
        let comes = |chats: std::ops::RangeInclusive<u8>| {
            let update =
                |id| Update { id: None, chat: test_chat(id), message_id: None, kind: Kind::Other("".into()) };
            let updates: Vec<Update> = chats.map(update).collect();
            store(&database, &CHANNEL, &updates, &database.run).unwrap();
        };
        comes(1..=1);
        database.execute("delete from received", []).unwrap();
        database.enqueue(test_chat(1), "hello");
        comes(2..=6);
        let of_nodes = database.column::<i64>("select count(*) from chats group by node order by node");
        assert_eq!(of_nodes, [3, 3]);
    }
}
