//! What the running tasks of a channel are doing, read from their events.

use channel::{ChannelName, Chat};
use protocol::event::Unreachable;
use protocol::{TaskId, now_ms};

use super::columns::task_id;
use super::sql::{Connection, Row, params};
use super::{StoreError, additions, kv, prior_context};

/// More of a call's arguments is not read.
const ARGUMENT_CHARS: u16 = 2000;

/// A task that has begun, and how far its newest attempt has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    pub task: TaskId,
    pub chat_id: String,
    /// When its attempt began, in milliseconds since the epoch.
    pub since_ms: i64,
    /// The turn that runs, from 1.
    pub turn: u32,
    /// Both ways together.
    pub tokens: i64,
    /// How many messages were added to it.
    pub additions: u32,
    /// Where the task's plan stands, such as `[2/6] in progress: …`.
    pub plan: Option<String>,
    /// The newest tool call that runs: its tool, and its arguments as JSON, perhaps cut, with paths as seen
    /// from the roots.
    pub call: Option<(String, String)>,
    /// A call of it waits for a person.
    pub waits_for_person: bool,
    /// The model's server that its newest request could not reach, and why.
    pub unreachable: Option<Unreachable>,
    /// Somebody asked to cancel it.
    pub is_stopping: bool,
}

/// The running tasks of a channel, those that wait for a person, and those that will be tried again because
/// the model's server cannot be reached.
pub fn of_channel(connection: &Connection, channel: &ChannelName) -> Result<Vec<Activity>, StoreError> {
    let roots = kv::get(connection, kv::ROOTS)?.unwrap_or_default();
    let mut activities = Vec::new();
    for begun in all_begun(connection, channel)? {
        let Some(activity) = of_task(connection, begun)? else { continue };
        let parts = parts_of(&roots, &Chat::new(channel.clone(), &activity.chat_id));
        let seen = |(tool, arguments)| (tool, seen_from(&parts, arguments));
        activities.push(Activity { call: activity.call.map(seen), ..activity });
    }
    Ok(activities)
}

/// What a row says of a task that has begun.
struct Begun {
    task: TaskId,
    chat_id: String,
    is_stopping: bool,
    is_parked: bool,
    /// Its next attempt is not due yet.
    is_tried_again: bool,
}

fn all_begun(connection: &Connection, channel: &ChannelName) -> Result<Vec<Begun>, StoreError> {
    let sql = "select id, chat_id, cancel_requested_by is not null, false, false from inbox
               where state = 'in_progress' and channel = ?1 /* here: inbox */
               union all
               select id, chat_id, false, exists (
                   select 1 from awaited where awaited.task_id = parked.task_id and ended is null), false
               from parked join inbox on id = parked.task_id
               where state = 'queued' and channel = ?1 /* here: inbox */
               union all
               select id, task.chat_id, false, false, true
               from chat_turns as turn cross join inbox as task on task.seq = turn.next_seq
               where turn.next_seq is not null and state = 'queued' and task.channel = ?1
                   and attempt > 0 and available_at_ms > ?2
                   and not exists (select 1 from parked where task_id = id) /* here: turn */";
    let begun = |row: &Row<'_>| {
        Ok(Begun {
            task: task_id(row, 0)?,
            chat_id: row.get(1)?,
            is_stopping: row.get(2)?,
            is_parked: row.get(3)?,
            is_tried_again: row.get(4)?,
        })
    };
    Ok(connection.query_all(sql, params![channel.as_str(), now_ms()], begun)?)
}

/// The directories that a chat's paths begin in: its own part of each root, which it may not have, and the
/// root.
fn parts_of(roots: &str, chat: &Chat) -> Vec<String> {
    let own = chat.session().directory_name();
    let roots = roots.lines().map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
    roots.flat_map(|root| [format!("{root}/{own}"), root.to_owned()]).collect()
}

/// A text in which absolute paths into these directories are seen from there.
fn seen_from(directories: &[String], text: String) -> String {
    let is_in_name = |character: char| character.is_alphanumeric() || "._-~".contains(character);
    directories.iter().fold(text, |text, directory| {
        let (mut seen, mut rest) = (String::new(), text.as_str());
        while let Some((before, behind)) = rest.split_once(directory.as_str()) {
            seen.push_str(before);
            let begins = !seen.ends_with(|last: char| is_in_name(last) || last == '/');
            let below = behind.strip_prefix('/').filter(|below| below.starts_with(is_in_name));
            rest = match below {
                Some(below) if begins => below,
                None if begins && !behind.starts_with(|next: char| is_in_name(next) || next == '/') => {
                    seen.push('.');
                    behind
                }
                _ => {
                    seen.push_str(directory);
                    behind
                }
            };
        }
        seen + rest
    })
}

fn of_task(connection: &Connection, begun: Begun) -> Result<Option<Activity>, StoreError> {
    let Begun { task, chat_id, is_stopping, is_parked, is_tried_again } = begun;
    let unreachable = unreachable(connection, &task)?;
    if is_tried_again && unreachable.is_none() {
        return Ok(None);
    }
    let sql = "select seq, time_ms from events indexed by events_task
               where task_id = ?1 and type = 'task.claimed' order by seq desc limit 1";
    let claimed =
        connection.query_optional(sql, [task.as_str()], |row| Ok((row.get::<i64>(0)?, row.get(1)?)));
    let Some((since_seq, since_ms)) = claimed? else { return Ok(None) };
    let sql = "select count(case when type = 'turn.completed' then 1 end) + 1,
                      coalesce(sum(cast(payload ->> 'input_tokens' as bigint)
                                   + cast(payload ->> 'output_tokens' as bigint)), 0)
               from events indexed by events_task
               where task_id = ?1 and type in ('turn.completed', 'model_request.completed') and seq > ?2";
    let (turn, tokens) =
        connection.query_row(sql, params![task.as_str(), since_seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let plan = prior_context::plan_of(connection, &task)?.map(|plan| plan.recap());
    let call = running_call(connection, &task, since_seq)?;
    let waits_for_person = is_parked || waits_for_person(connection, &task, since_seq)?;
    let additions = additions::count(connection, &task)?;
    Ok(Some(Activity {
        task,
        chat_id,
        since_ms,
        turn,
        tokens,
        additions,
        plan,
        call,
        waits_for_person,
        unreachable,
        is_stopping,
    }))
}

/// The model's server, if the newest request of the task could not reach it.
fn unreachable(connection: &Connection, task: &TaskId) -> Result<Option<Unreachable>, StoreError> {
    let sql = "select payload ->> '$.unreachable.address', payload ->> '$.unreachable.cause'
               from events indexed by events_task
               where task_id = ?1 and (type in ('turn.completed', 'model_request.completed', 'agent.failed')
                   or type = 'retry.scheduled' and payload -> 'failed_requests' is not null)
               order by seq desc limit 1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let newest = connection.query_optional(sql, [task.as_str()], read)?;
    let Some((Some(address), Some(cause))) = newest else { return Ok(None) };
    Ok(Some(Unreachable { address, cause }))
}

fn waits_for_person(connection: &Connection, task: &TaskId, since_seq: i64) -> Result<bool, StoreError> {
    let sql = "select exists (
                   select 1 from events as asked indexed by events_task
                   where task_id = ?1 and type = 'approval.requested' and seq > ?2 and not exists (
                       select 1 from events as ended indexed by events_task
                       where ended.task_id = ?1 and ended.seq > asked.seq
                           and ended.type in ('approval.granted', 'approval.denied', 'approval.expired')
                           and ended.payload ->> 'approval_id' = asked.payload ->> 'approval_id'))";
    Ok(connection.query_row(sql, params![task.as_str(), since_seq], |row| row.get(0))?)
}

fn running_call(
    connection: &Connection,
    task: &TaskId,
    since_seq: i64,
) -> Result<Option<(String, String)>, StoreError> {
    let sql = "select payload ->> 'tool_name', substr(payload -> 'arguments', 1, ?3)
               from events as begun indexed by events_task
               where task_id = ?1 and type = 'tool_call.started' and seq > ?2 and not exists (
                   select 1 from events as ended where ended.parent_id = begun.id and ended.type in
                       ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted'))
               order by seq desc limit 1";
    Ok(connection.query_optional(sql, params![task.as_str(), since_seq, ARGUMENT_CHARS], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CHANNEL, TestDatabase, call_completed, call_started, retry, test_chat};

    #[test]
    fn a_running_task_shows_its_newest_open_call_and_the_turns_of_its_attempt() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        let activity = || of_channel(&database, &CHANNEL).unwrap();
        let [first] = activity().try_into().unwrap();
        assert_eq!((first.turn, first.tokens, first.call), (1, 0, None));
        let call = database.append(call_started("ls", "src"), None, Some(&task.id));
        let [calling] = activity().try_into().unwrap();
        let (tool, arguments) = calling.call.unwrap();
        assert!(tool == "ls" && arguments.contains("src"), "{tool} {arguments}");
        database.append(call_completed(""), Some(&call), Some(&task.id));
        assert_eq!(activity()[0].call, None);
        assert!(database.end(&task, retry(0)));
        assert_eq!(activity(), []);
        database.claim();
        assert_eq!(activity()[0].turn, 1);
    }

    #[test]
    fn paths_of_a_call_are_seen_from_the_roots() {
        let parts = parts_of("/w\n/srv/état", &test_chat(7));
        for (path, seen) in [
            (r#"{"path":"/w/a/b.txt"}"#, r#"{"path":"a/b.txt"}"#),
            (r#"{"path":"/w/test-7/a"}"#, r#"{"path":"a"}"#),
            (r#"{"path":"/w/test-77/a"}"#, r#"{"path":"test-77/a"}"#),
            ("cd /w && ls /w", "cd . && ls ."),
            ("ls --in=/srv/état/x '/srv/état'", "ls --in=x '.'"),
            ("/home/w/a /work /w/ /w.txt /w//a", "/home/w/a /work /w/ /w.txt /w//a"),
        ] {
            assert_eq!(seen_from(&parts, path.to_owned()), seen);
        }
        assert_eq!(seen_from(&parts_of("", &test_chat(7)), "/a".to_owned()), "/a");
    }
}
