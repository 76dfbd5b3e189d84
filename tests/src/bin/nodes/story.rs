//! What happened to a chat, for who looks for the cause.

use harness::Postgres;

use crate::chats::{Answer, Written};

/// Prints what a chat wrote and got, and what the database has of it.
pub(crate) fn print<'a>(
    server: &Postgres,
    chat: i64,
    node: &str,
    written: impl Iterator<Item = &'a Written>,
    answers: &[Answer],
) {
    println!("--- chat {chat}, on {node}");
    written.for_each(|one| println!("  wrote {} at {}", one.word, one.at_ms));
    for Answer { word, at_ms, text } in answers {
        println!("  got {word} at {at_ms}: {}", text.lines().next().unwrap_or_default());
    }
    for sql in [
        format!(
            "select 'inbox', seq, id, state, attempt, node, created_at_ms, text from inbox
             where chat_id = '{chat}' order by seq"
        ),
        format!(
            "select 'outbox', seq, task_id, state, attempt, sender, sender_until_ms, finished_at_ms, error
             from outbox where chat_id = '{chat}' order by seq"
        ),
        format!("select 'received', seq, change from received where chat_id = '{chat}' order by seq"),
        format!(
            "select time_ms, type, task_id, substr(payload, 1, 300) from events
             where task_id in (select id from inbox where chat_id = '{chat}')
                 or payload ->> 'chat_id' = '{chat}' order by seq"
        ),
    ] {
        match server.try_ask(&sql) {
            Ok(rows) => rows.iter().for_each(|row| println!("  {row}")),
            Err(error) => println!("  {error}"),
        }
    }
}
