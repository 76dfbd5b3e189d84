//! The machines that share a database: where the workspace of each chat is, and which machines are gone.
//!
//! A chat stays on its node, because its files are there. Nothing here elects or replicates: the server's
//! locks and clock do (see [`crate::membership`]).

use channel::Chat;
use protocol::event::{ChatPlaced, LeaderElected, NodeGone};
use protocol::{Event, EventId, now_ms};
use serde::{Deserialize, Serialize};

use super::columns::chat;
use super::membership::LEASE;
use super::sql::server::WRITER_LOCK;
use super::sql::{Connection, Row, params};
use super::{StoreError, events, kv};

/// A chat whose node is gone reads so at most this often.
const TELL_EVERY_MS: i64 = 60 * 60 * 1000;

/// A machine with a supervisor, its workers and a tool server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub name: String,
    /// `active`, `draining` (new chats go elsewhere) or `gone`.
    pub state: String,
    pub started_at_ms: i64,
    /// When it was last heard of.
    pub seen_at_ms: i64,
    /// Whether the others mount its workspaces.
    pub shares_workspaces: bool,
    /// How many chats have their workspace there.
    pub chats: i64,
    /// How many tasks run there.
    pub running: i64,
    /// Whether it receives for the channels.
    pub leads: bool,
}

/// Why a chat or a node stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The database is a file.
    #[error("the database is a file, so there is one node: several need AUTONOUS_DATABASE_URL")]
    OneNode,
    /// No node has that name.
    #[error("there is no node {0:?}: `supervisor nodes` lists them")]
    NoSuchNode(String),
    /// The node cannot take chats.
    #[error("the node {0:?} is {1}: choose one that is active")]
    NotActive(String, String),
    /// The chat has never had a task or a message.
    #[error("the chat {0:?} is on no node: `supervisor chats` lists those that are known")]
    NoSuchChat(String),
    /// Its task would lose its workspace.
    #[error("a task of the chat runs on {0:?}: wait until it has ended, or cancel it")]
    Running(String),
}

/// What became of the chats of a node that is drained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    pub node: String,
    /// The chats that are elsewhere now.
    pub moved: i64,
    /// Those that stay: their files are on this node alone, or a task of theirs runs.
    pub stay: i64,
}

/// All nodes, by name.
pub fn all(connection: &Connection) -> Result<Vec<Node>, StoreError> {
    let sql = "select name, state, started_at_ms, seen_at_ms, shares_workspaces,
                      (select count(*) from chats where node = name),
                      (select count(*) from inbox where state = 'in_progress' and inbox.node = name),
                      name = coalesce((select node from leaders order by epoch desc limit 1), '')
               from nodes order by name";
    let read = |row: &Row<'_>| {
        Ok(Node {
            name: row.get(0)?,
            state: row.get(1)?,
            started_at_ms: row.get(2)?,
            seen_at_ms: row.get(3)?,
            shares_workspaces: row.get(4)?,
            chats: row.get(5)?,
            running: row.get(6)?,
            leads: row.get(7)?,
        })
    };
    Ok(connection.query_all(sql, [], read)?)
}

/// The node of each chat that has one.
pub fn of_chats(connection: &Connection) -> Result<Vec<(Chat, String)>, StoreError> {
    Ok(connection
        .query_all("select channel, chat_id, node from chats", [], |row| Ok((chat(row, 0)?, row.get(2)?)))?)
}

/// Gives a chat a node, unless it has one: the active one with the fewest open tasks, then the fewest chats.
pub fn place(connection: &Connection, chat: &Chat, run: &EventId) -> Result<(), StoreError> {
    let known = "select exists (select 1 from chats where channel = ?1 and chat_id = ?2)";
    let values = params![chat.channel.as_str(), chat.id];
    if connection.query_row(known, values, |row| row.get(0))? {
        return Ok(());
    }
    let node = least_loaded(connection, None)?.unwrap_or_else(|| name(connection));
    put(connection, chat, &node, None, "first message", run)
}

/// The active node with the least to do; of those that share workspaces if the chat comes from such a one.
/// What came for a node and is no task yet counts as well, so that a burst of new chats is spread.
fn least_loaded(connection: &Connection, from: Option<&Node>) -> Result<Option<String>, StoreError> {
    let sql = "select name from nodes
               where state = 'active' and (?1 = 0 or shares_workspaces = 1)
               order by (select count(*) from chats join inbox
                             on inbox.channel = chats.channel and inbox.chat_id = chats.chat_id
                         where chats.node = name and inbox.state in ('queued', 'in_progress'))
                           + (select count(*) from chats join received
                              on received.channel = chats.channel and received.chat_id = chats.chat_id
                              where chats.node = name),
                        (select count(*) from chats where node = name), name
               limit 1";
    let shares = i64::from(from.is_some_and(|node| node.shares_workspaces));
    Ok(connection.query_optional(sql, [shares], |row| row.get(0))?)
}

fn put(
    connection: &Connection,
    chat: &Chat,
    node: &str,
    from: Option<&str>,
    by: &str,
    run: &EventId,
) -> Result<(), StoreError> {
    let sql = "insert into chats (channel, chat_id, node, placed_at_ms) values (?1, ?2, ?3, ?4)
               on conflict (channel, chat_id)
               do update set node = excluded.node, placed_at_ms = excluded.placed_at_ms, told_at_ms = null";
    let (channel, id) = (chat.channel.as_str(), chat.id.as_str());
    connection.execute(sql, params![channel, id, node, now_ms()])?;
    let placed = ChatPlaced {
        channel: channel.to_owned(),
        chat_id: id.to_owned(),
        node: node.to_owned(),
        from: from.map(str::to_owned),
        by: by.to_owned(),
    };
    events::append(connection, &Event::now(placed, Some(run), None))
}

/// Moves a chat to another node. Its files do not move: unless both mount them, somebody has to copy them.
pub fn move_chat(
    connection: &Connection,
    chat: &Chat,
    to: &str,
    by: &str,
    run: &EventId,
) -> Result<Result<(), Refusal>, StoreError> {
    if connection.node().is_none() {
        return Ok(Err(Refusal::OneNode));
    }
    let Some(node) = all(connection)?.into_iter().find(|node| node.name == to) else {
        return Ok(Err(Refusal::NoSuchNode(to.to_owned())));
    };
    if node.state != "active" {
        return Ok(Err(Refusal::NotActive(node.name, node.state)));
    }
    let Some((_, from)) = of_chats(connection)?.into_iter().find(|(known, _)| known == chat) else {
        return Ok(Err(Refusal::NoSuchChat(chat.address())));
    };
    if is_running(connection, chat)? {
        return Ok(Err(Refusal::Running(from)));
    }
    put(connection, chat, to, Some(&from), by, run)?;
    Ok(Ok(()))
}

fn is_running(connection: &Connection, chat: &Chat) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from inbox
                              where state = 'in_progress' and channel = ?1 and chat_id = ?2)";
    let chat = params![chat.channel.as_str(), chat.id];
    Ok(connection.query_row(sql, chat, |row| row.get(0))?)
}

/// New chats go elsewhere from now on, and so do the chats of a node whose workspaces the others mount.
pub fn drain(
    connection: &Connection,
    name: &str,
    by: &str,
    run: &EventId,
) -> Result<Result<Drained, Refusal>, StoreError> {
    let Some(node) = set_state(connection, name, "draining")? else {
        return Ok(Err(Refusal::NoSuchNode(name.to_owned())));
    };
    let moved = if node.shares_workspaces { move_all(connection, &node, by, run)? } else { 0 };
    Ok(Ok(Drained { node: node.name, moved, stay: node.chats - moved }))
}

/// A node that was drained takes new chats again.
pub fn resume(connection: &Connection, name: &str) -> Result<Result<(), Refusal>, StoreError> {
    let found = set_state(connection, name, "active")?;
    Ok(found.map(drop).ok_or_else(|| Refusal::NoSuchNode(name.to_owned())))
}

/// The node as it was; one that is gone stays so.
fn set_state(connection: &Connection, name: &str, state: &str) -> Result<Option<Node>, StoreError> {
    let found = all(connection)?.into_iter().find(|node| node.name == name);
    let sql = "update nodes set state = ?2 where name = ?1 and state <> 'gone'";
    connection.execute(sql, params![name, state])?;
    Ok(found)
}

/// Moves the chats of a node of which no task runs. Returns how many.
fn move_all(connection: &Connection, node: &Node, by: &str, run: &EventId) -> Result<i64, StoreError> {
    let mut moved = 0;
    for (chat, _) in of_chats(connection)?.into_iter().filter(|(_, of)| *of == node.name) {
        let to = least_loaded(connection, Some(node))?.filter(|to| *to != node.name);
        if let Some(to) = to
            && !is_running(connection, &chat)?
        {
            put(connection, &chat, &to, Some(&node.name), by, run)?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// Moves the chats of nodes that are gone and whose workspaces others mount. Their tasks are not running any
/// more.
pub fn take_over(connection: &Connection, run: &EventId) -> Result<(), StoreError> {
    for node in all(connection)?.iter().filter(|node| node.state == "gone" && node.shares_workspaces) {
        move_all(connection, node, "node gone", run)?;
    }
    Ok(())
}

/// Marks the nodes that were not heard of for their lease. This one, the leader, speaks for them.
pub fn declare_gone(connection: &Connection, run: &EventId) -> Result<(), StoreError> {
    let late = "select name from nodes
                where name <> ?1 and state <> 'gone' and seen_at_ms < server_ms() - ?2";
    let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    for node in connection.query_all(late, params![name(connection), lease], |row| row.get::<String>(0))? {
        let sql = "update nodes set state = 'gone' where name = ?1";
        connection.execute(sql, [&node])?;
        let running = "select count(*) from inbox where state = 'in_progress' and node = ?1";
        let tasks: i64 = connection.query_row(running, [&node], |row| row.get(0))?;
        let gone = NodeGone { node, tasks: u64::try_from(tasks).unwrap_or(0) };
        events::append(connection, &Event::now(gone, Some(run), None))?;
    }
    let sql = "update nodes set spoken_for_by = ?1
               where state = 'gone' and coalesce(spoken_for_by, '') <> ?1";
    connection.execute(sql, [name(connection)])?;
    Ok(())
}

/// Whether no other node works with the database.
pub fn is_alone(connection: &Connection) -> Result<bool, StoreError> {
    let Some(node) = connection.node() else { return Ok(true) };
    let sql = "select not exists (select 1 from nodes where name <> ?1 and state <> 'gone')";
    Ok(connection.query_row(sql, [node], |row| row.get(0))?)
}

/// Records that this node leads.
pub fn record_leader(connection: &Connection, epoch: i64, run: &EventId) -> Result<(), StoreError> {
    events::append(connection, &Event::now(LeaderElected { node: name(connection), epoch }, Some(run), None))
}

/// The chats with open tasks whose node is gone, of which the people have not read that within an hour. From
/// now on they count as told.
pub fn to_be_told(connection: &Connection) -> Result<Vec<(Chat, String)>, StoreError> {
    let sql = "update chats set told_at_ms = ?1
               where node in (select name from nodes where state = 'gone')
                   and coalesce(told_at_ms, 0) < ?2
                   and (exists (select 1 from inbox where inbox.channel = chats.channel
                                    and inbox.chat_id = chats.chat_id and inbox.state = 'queued')
                        or exists (select 1 from received where received.channel = chats.channel
                                       and received.chat_id = chats.chat_id))
               returning channel, chat_id, node";
    let now = now_ms();
    Ok(connection
        .query_all(sql, params![now, now - TELL_EVERY_MS], |row| Ok((chat(row, 0)?, row.get(2)?)))?)
}

/// Takes over what a database without nodes has: its positions, and its chats. Done by the first node.
pub fn adopt(connection: &Connection) -> Result<(), StoreError> {
    let is_first = "select not exists (select 1 from chats) and (select count(*) from nodes) = 1";
    if connection.node().is_none() || !connection.query_row(is_first, [], |row| row.get::<bool>(0))? {
        return Ok(());
    }
    kv::adopt(connection)?;
    let sql = "insert into chats (channel, chat_id, node, placed_at_ms)
               select channel, chat_id, ?1, ?2 from (
                   select channel, chat_id from inbox union select channel, chat_id from outbox) as known";
    connection.execute(sql, params![name(connection), now_ms()])?;
    for table in ["open_calls", "questions", "decisions", "contact_messages"] {
        let sql = format!("update {table} set node = ?1 where node is null");
        connection.execute(&sql, [name(connection)])?;
    }
    let running = "update inbox set node = ?1 where state = 'in_progress' and node is null";
    connection.execute(running, [name(connection)])?;
    Ok(())
}

/// That nodes work with the database, and which; none if none does.
pub(crate) fn at_work(connection: &Connection) -> Result<Option<String>, StoreError> {
    let sql = format!(
        "select distinct name from nodes join pg_locks on locktype = 'advisory' and granted
             and classid::bigint = {WRITER_LOCK} and pid <> pg_backend_pid()
             and objid::bigint = hashtext(current_schema() || '/' || name)::bigint & 4294967295
         order by name"
    );
    let names: Vec<String> = connection.query_all(&sql, [], |row| row.get(0))?;
    let stop_them = || format!("stop the supervisors of these nodes first: {}", names.join(", "));
    Ok((!names.is_empty()).then(stop_them))
}

/// Why a database of a server cannot become a file, which has one node; none if it can.
pub(crate) fn not_yet_one(connection: &Connection) -> Result<Option<String>, StoreError> {
    if let Some(at_work) = at_work(connection)? {
        return Ok(Some(at_work));
    }
    let homes = "select distinct node from chats order by 1";
    let homes: Vec<String> = connection.query_all(homes, [], |row| row.get(0))?;
    if homes.len() > 1 {
        return Ok(Some(format!(
            "a file has one node, and chats are on {}: move them to one with `supervisor chats move`",
            homes.join(", ")
        )));
    }
    let unread: i64 = connection.query_row("select count(*) from received", [], |row| row.get(0))?;
    let words = "messages were received and not read: start the supervisor once, and stop it";
    Ok((unread > 0).then(|| format!("{unread} {words}")))
}

/// What the one node had for itself belongs to the file.
pub(crate) fn become_one(connection: &Connection) -> Result<(), StoreError> {
    let newest = "select name from nodes order by started_at_ms desc limit 1";
    let name = connection.query_optional(newest, [], |row| row.get::<String>(0))?;
    let prefix = format!("node.{}.", name.unwrap_or_default());
    let sql = "update kv set key = substr(key, length(?1) + 1) where substr(key, 1, length(?1)) = ?1";
    connection.execute(sql, [&prefix])?;
    connection.execute_batch(
        "delete from kv where key like 'node.%';
         delete from chats; delete from leaders; delete from nodes;
         update inbox set node = null where node is not null;
         update outbox set sender = null, sender_until_ms = null where sender is not null;
         update open_calls set node = null; update questions set node = null;
         update decisions set node = null; update contact_messages set node = null;",
    )?;
    Ok(())
}

fn name(connection: &Connection) -> String {
    connection.node().unwrap_or_default().to_owned()
}
