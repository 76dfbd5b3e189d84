//! Whether a chat's running task has seen text that neither its people nor the operator wrote: the web, files
//! that came in, forwarded messages. Its author could have given the model orders.
//!
//! A task also reads the history of its chat with the calls of earlier answers, so these count, too.

use std::collections::BTreeSet;

use channel::Chat;
use protocol::Origin;
use serde_json::Value;

use super::StoreError;
use super::attachments::INBOX;
use super::columns::json;
use super::sql::{Connection, params};

/// So many sources are named.
const MOST_NAMED: usize = 5;

/// The longest name of a source, in characters.
const MAX_NAME_CHARS: usize = 60;

/// The chat's running task, and the tasks whose messages it gets as history.
const READ: &str = "select id, origin from inbox
                    where channel = ?1 and chat_id = ?2
                        and (state = 'in_progress'
                             or id in (select task_id from history where channel = ?1 and chat_id = ?2)
                                and seq > coalesce((select begins_after_seq from chat_settings
                                                    where channel = ?1 and chat_id = ?2), 0))";

/// In words, such as `the web (example.com)`; none if it has seen nothing of the kind, or nothing runs.
pub fn seen_in(connection: &Connection, chat: &Chat) -> Result<Option<String>, StoreError> {
    let (channel, id) = (chat.channel.as_str(), &chat.id);
    let running = "select 1 from inbox where channel = ?1 and chat_id = ?2 and state = 'in_progress'";
    if connection.query_optional(running, params![channel, id], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let tasks = connection.query_all(READ, params![channel, id], |row| {
        Ok((row.get::<String>(0)?, json::<Origin>(row, 1)?.unwrap_or_default()))
    })?;
    let mut sources = BTreeSet::new();
    for (task, origin) in tasks {
        sources.extend(origin.forwarded_from.map(|writer| format!("a message of {}", short(&writer))));
        let passed_on = origin.passed_on.iter();
        sources.extend(passed_on.map(|part| format!("a message of {}", short(&part.writer))));
        sources.extend(origin.outside);
        sources.extend(files_of(connection, &task)?);
        sources.extend(calls_of(connection, &task, chat)?);
    }
    let named: Vec<String> = sources.iter().take(MOST_NAMED).cloned().collect();
    let more = if sources.len() > MOST_NAMED { ", and more" } else { "" };
    Ok((!named.is_empty()).then(|| format!("{}{more}", named.join(", "))))
}

/// The files that came with a task's message.
fn files_of(connection: &Connection, task: &str) -> Result<Vec<String>, StoreError> {
    let sql = "select coalesce(file_name, kind) from attachments where task_id = ?1 and state = 'stored'";
    Ok(connection
        .query_all(sql, [task], |row| Ok(format!("a file that came in ({})", short(row.text(0)?))))?)
}

/// The calls of a task that read from outside, or a file that came into its chat earlier.
fn calls_of(connection: &Connection, task: &str, chat: &Chat) -> Result<Vec<String>, StoreError> {
    let sql = "select payload from events indexed by events_task
               where task_id = ?1 and type = 'tool_call.started'";
    let calls = connection.query_all(sql, [task], |row| json::<Value>(row, 0))?;
    let mut sources = Vec::new();
    for call in calls.into_iter().flatten() {
        let (tool, arguments) = (call["tool_name"].as_str().unwrap_or_default(), &call["arguments"]);
        sources.extend(source(tool, arguments));
        sources.extend(came_in(connection, chat, &arguments.to_string())?);
    }
    Ok(sources)
}

fn source(tool: &str, arguments: &Value) -> Option<String> {
    match tool {
        "url_fetch" => {
            let url = arguments["url"].as_str().and_then(|url| url.parse::<url::Url>().ok());
            let host = url.and_then(|url| url.host_str().map(short));
            Some(format!("the web ({})", host.unwrap_or_else(|| "an address".to_owned())))
        }
        "web_search" => Some("the web (a search)".to_owned()),
        _ => None,
    }
}

/// The files of the chat that came in earlier, if a call names their directory.
fn came_in(connection: &Connection, chat: &Chat, arguments: &str) -> Result<Option<String>, StoreError> {
    let directory = format!("{INBOX}/{}", chat.session().as_str().replace(':', "-"));
    if !arguments.contains(&directory) {
        return Ok(None);
    }
    let sql = "select path from attachments join inbox on inbox.id = attachments.task_id
               where inbox.channel = ?1 and inbox.chat_id = ?2 and attachments.state = 'stored'
               order by attachments.seq desc";
    let names = connection.query_all(sql, params![chat.channel.as_str(), chat.id], |row| {
        Ok(row.text(0)?.rsplit('/').next().unwrap_or_default().to_owned())
    })?;
    let named = names.iter().find(|name| arguments.contains(name.as_str())).or(names.first());
    Ok(named.map(|name| format!("a file that came in ({})", short(name))))
}

/// A name that somebody else chose, in a line and without brackets.
fn short(name: &str) -> String {
    let plain = |letter: &char| !letter.is_control() && !matches!(letter, '[' | ']' | '<' | '>');
    name.chars().filter(plain).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{TestDatabase, call_started, test_chat};

    fn running(database: &TestDatabase, chat: usize) -> protocol::TaskId {
        let task = database.enqueue(test_chat(chat), "hello");
        let sql = "update inbox set state = 'in_progress', attempt = 1, lease_until_ms = 1 where id = ?1";
        database.execute(sql, [task.as_str()]).unwrap();
        task
    }

    #[test]
    fn what_comes_from_outside_is_named_and_all_else_is_not() {
        for (tool, arguments, expected) in [
            ("url_fetch", json!({"url": "https://eve.example/x?y=1"}), Some("the web (eve.example)")),
            ("web_search", json!({"query": "x"}), Some("the web (a search)")),
            ("read", json!({"path": "notes.md"}), None),
            ("bash", json!({"cmd": "date"}), None),
        ] {
            let database = TestDatabase::new();
            let task = running(&database, 1);
            assert_eq!(seen_in(&database, &test_chat(1)).unwrap(), None);
            let mut started = call_started(tool, ".");
            started.call.arguments = arguments.as_object().unwrap().clone();
            database.append(started, None, Some(&task));
            assert_eq!(seen_in(&database, &test_chat(1)).unwrap().as_deref(), expected, "{tool}");
            assert_eq!(seen_in(&database, &test_chat(2)).unwrap(), None, "another chat has seen nothing");
        }
    }

    #[test]
    fn history_counts_until_a_new_conversation_and_a_schedule_hands_on_what_was_seen() {
        let database = TestDatabase::new();
        let earlier = database.enqueue(test_chat(1), "read it");
        database.append(call_started("web_search", "."), None, Some(&earlier));
        running(&database, 1);
        assert_eq!(seen_in(&database, &test_chat(1)).unwrap(), None, "it is no part of the conversation");
        super::super::conversation::keep(&database, &test_chat(1), &earlier, "read it", "done").unwrap();
        assert_eq!(seen_in(&database, &test_chat(1)).unwrap().as_deref(), Some("the web (a search)"));
        let origin = json!({"scheduled": "due", "outside": "the web (eve.example)"});
        database
            .execute("update inbox set origin = ?1 where state = 'in_progress'", [origin.to_string()])
            .unwrap();
        let seen = seen_in(&database, &test_chat(1)).unwrap().unwrap();
        assert_eq!(seen, "the web (a search), the web (eve.example)");
    }
}
