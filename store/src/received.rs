//! What a channel delivered to the leader, until the node of its chat has read it.

use channel::ChannelName;
use channel::update::Update;
use protocol::EventId;

use super::sql::{Connection, params};
use super::{StoreError, kv, nodes};

/// The most that is read at once.
const BATCH: u32 = 100;

/// What waits for this node.
#[derive(Debug, Default)]
pub struct Waiting {
    /// In the order in which it came.
    pub updates: Vec<Update>,
    /// The row of the last one.
    pub until_seq: i64,
    /// Whether there is no more, and the leader has nothing left of what came while nothing ran.
    pub is_all: bool,
}

/// Whether a node leads: one that was taken for dead stores nothing any more.
pub fn is_led(connection: &Connection, epoch: i64) -> Result<bool, StoreError> {
    let newest = "select max(epoch) from leaders";
    Ok(connection.prepare_cached(newest)?.query_row([], |row| row.get::<Option<i64>>(0))? == Some(epoch))
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
        connection.prepare_cached(sql)?.execute(params![channel.as_str(), update.chat.id, json])?;
    }
    Ok(())
}

/// Notes whether the leader still receives what came while nothing ran.
pub fn set_behind(connection: &Connection, channel: &ChannelName, is_behind: bool) -> Result<(), StoreError> {
    match is_behind {
        true => kv::set(connection, &behind(channel), ""),
        false => kv::remove(connection, &behind(channel)),
    }
}

fn behind(channel: &ChannelName) -> String {
    format!("{channel}.behind")
}

/// What waits for this node.
pub fn waiting(connection: &Connection, channel: &ChannelName) -> Result<Waiting, StoreError> {
    let sql = format!(
        "select seq, change from received where channel = ?1 /* here: received */ order by seq limit {BATCH}"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let rows = query.query_map([channel.as_str()], |row| Ok((row.get(0)?, row.get::<String>(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
    let is_behind = kv::get(connection, &behind(channel))?.is_some();
    let is_all = rows.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) && !is_behind;
    let until_seq = rows.last().map_or(0, |(seq, _)| *seq);
    let updates = rows.iter().map(|(_, json)| serde_json::from_str(json)).collect::<Result<_, _>>()?;
    Ok(Waiting { updates, until_seq, is_all })
}

/// Removes what this node has read.
pub fn remove(connection: &Connection, channel: &ChannelName, until_seq: i64) -> Result<(), StoreError> {
    let sql = "delete from received where channel = ?1 and seq <= ?2 /* here: received */";
    connection.prepare_cached(sql)?.execute(params![channel.as_str(), until_seq])?;
    Ok(())
}
