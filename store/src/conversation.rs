//! A chat's conversation: where it begins, what was said in it, which model works for it, and what a task's
//! worker gets to know of it.

use channel::Chat;
use protocol::{Addition, EarlierAttempts, HistoryMessage, Parked, Role, TaskId, now_ms};

use super::claim::Claimed;
use super::columns::{json, task_id};
use super::sql::{Connection, params};
use super::{StoreError, additions, attachments, parked, prior_context};

/// The most messages of a chat that the worker gets.
const MAX_MESSAGES: u32 = 200;
/// The most bytes of their text.
const MAX_BYTES: usize = 1024 * 1024;
/// How many of the newest answers come with their tool calls.
const MAX_TRACES: usize = 20;

/// What a task's worker gets to know of what came before.
#[derive(Debug)]
pub struct PriorContext {
    pub history: Vec<HistoryMessage>,
    pub earlier: EarlierAttempts,
    /// The turn in which it waited for a person.
    pub parked: Option<Box<Parked>>,
    /// The model that the chat has chosen.
    pub model: Option<String>,
    pub images: Vec<String>,
    /// What was added to it in earlier attempts.
    pub additions: Vec<Addition>,
}

impl PriorContext {
    /// Reads the history of the chat, what earlier attempts did, and which images came with the message.
    pub fn of(connection: &Connection, task: &Claimed) -> Result<Self, StoreError> {
        let parked = parked::of(connection, &task.id)?.map(Box::new);
        let earlier = match (task.attempt, &parked) {
            (0 | 1, _) => EarlierAttempts::default(),
            (_, Some(parked)) if parked.conversation.is_some() => {
                prior_context::attempts_after_a_wait(connection, &task.id)?
            }
            _ => prior_context::earlier_attempts(connection, &task.id)?,
        };
        let images = attachments::images(connection, &task.id)?;
        let additions = additions::of(connection, &task.id)?;
        let model = model(connection, &task.chat)?;
        let history = messages(connection, &task.chat)?;
        Ok(Self { history, earlier, parked, images, additions, model })
    }
}

/// Begins a new conversation after the newest message. What was said before stays in the events.
pub fn begin(connection: &Connection, chat: &Chat) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, begins_after_seq)
               values (?1, ?2, (select coalesce(max(seq), 0) from inbox))
               on conflict (channel, chat_id) do update set begins_after_seq = excluded.begins_after_seq";
    connection.execute(sql, params![chat.channel.as_str(), chat.id])?;
    Ok(())
}

/// The model that a chat has chosen, if any.
pub fn model(connection: &Connection, chat: &Chat) -> Result<Option<String>, StoreError> {
    let sql = "select model from chat_settings where channel = ?1 and chat_id = ?2";
    let model = connection.query_optional(sql, params![chat.channel.as_str(), chat.id], |row| row.get(0));
    Ok(model?.flatten())
}

/// Chooses the model for a chat; none for the first one.
pub fn choose_model(connection: &Connection, chat: &Chat, model: Option<&str>) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, model) values (?1, ?2, ?3)
               on conflict (channel, chat_id) do update set model = excluded.model";
    connection.execute(sql, params![chat.channel.as_str(), chat.id, model])?;
    Ok(())
}

/// Stores both sides of a task that has ended. A task without a reply is not stored here.
pub fn keep(
    connection: &Connection,
    chat: &Chat,
    task: &TaskId,
    asked: &str,
    told: &str,
) -> Result<(), StoreError> {
    let sql = "insert into history (channel, chat_id, task_id, role, text, created_at_ms)
               values (?1, ?2, ?3, ?4, ?5, ?6)";
    for (role, text) in [("user", asked), ("assistant", told)] {
        let values = params![chat.channel.as_str(), chat.id, task.as_str(), role, text, now_ms()];
        connection.execute(sql, values)?;
    }
    Ok(())
}

/// Deletes both sides of a task that is about to run again.
pub fn forget(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    connection.execute("delete from history where task_id = ?1", [task.as_str()])?;
    Ok(())
}

/// The last messages of a chat's conversation, oldest first, with the tool calls of each answer. The worker
/// fits them to its model's window; the bounds here only keep them from growing without end.
pub fn messages(connection: &Connection, chat: &Chat) -> Result<Vec<HistoryMessage>, StoreError> {
    let sql = "select history.role, history.text, history.task_id, inbox.origin
               from history join inbox on inbox.id = history.task_id
               where history.channel = ?1 and history.chat_id = ?2
                   and inbox.seq > coalesce((select begins_after_seq from chat_settings
                                             where channel = ?1 and chat_id = ?2), 0)
               order by history.seq desc limit ?3";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query(params![chat.channel.as_str(), chat.id, MAX_MESSAGES])?;
    let (mut messages, mut bytes, mut traces) = (Vec::new(), 0, 0);
    while let Some(row) = rows.next()? {
        let text: String = row.get(1)?;
        bytes += text.len();
        if bytes > MAX_BYTES {
            break;
        }
        let role = if row.get::<String>(0)? == "user" { Role::User } else { Role::Assistant };
        let mut calls = Vec::new();
        if role == Role::Assistant && traces < MAX_TRACES {
            traces += 1;
            calls = prior_context::trace(connection, &task_id(&row, 2)?)?;
        }
        let origin = if role == Role::User { json(&row, 3)? } else { None };
        messages.push(HistoryMessage { role, text, origin, calls });
    }
    messages.reverse();
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, call_started, test_chat};

    fn tell(database: &TestDatabase, question: &str, answer: &str) {
        let task = database.enqueue(test_chat(1), question);
        keep(database, &test_chat(1), &task, question, answer).unwrap();
        database.append(call_started("ls", "."), None, Some(&task));
    }

    fn messages(database: &TestDatabase) -> Vec<HistoryMessage> {
        super::messages(database, &test_chat(1)).unwrap()
    }

    #[test]
    fn an_answer_has_the_calls_that_led_to_it_and_a_question_has_none() {
        let database = TestDatabase::new();
        tell(&database, "what is here?", "nothing");
        let messages = messages(&database);
        let calls: Vec<_> = messages.iter().map(|message| (message.role, message.calls.len())).collect();
        assert_eq!(calls, [(Role::User, 0), (Role::Assistant, 1)]);
    }

    #[test]
    fn a_new_conversation_leaves_out_what_was_said_and_what_is_still_being_answered() {
        let database = TestDatabase::new();
        tell(&database, "old", "answer");
        let running = database.enqueue(test_chat(1), "running");
        begin(&database, &test_chat(1)).unwrap();
        keep(&database, &test_chat(1), &running, "running", "answer").unwrap();
        assert_eq!(messages(&database), []);
        tell(&database, "new", "answer");
        assert_eq!(messages(&database)[0].text, "new");
    }

    #[test]
    fn the_newest_messages_stay_when_there_are_too_many() {
        let database = TestDatabase::new();
        for number in 0..=MAX_MESSAGES / 2 {
            tell(&database, &format!("question {number}"), "answer");
        }
        let messages = messages(&database);
        assert_eq!(messages.len(), 200);
        assert_eq!(messages[0].text, "question 1");
        assert_eq!(messages.iter().filter(|message| !message.calls.is_empty()).count(), MAX_TRACES);
    }

    #[test]
    fn the_newest_messages_stay_when_they_are_too_long() {
        let database = TestDatabase::new();
        for name in ["a", "b", "c"] {
            tell(&database, name, &name.repeat(MAX_BYTES / 2 - 1));
        }
        let first: Vec<String> = messages(&database).iter().map(|m| m.text[..1].to_owned()).collect();
        assert_eq!(first, ["b", "b", "c", "c"]);
    }
}
