//! How far the tasks of a channel have come, for the people whose messages they are.

use channel::ChannelName;
use channel::sign::Stage;
use protocol::{MessageId, TaskId, now_ms};

use super::StoreError;
use super::columns::task_id;
use super::sql::{Connection, Row, params};

/// A task that runs no longer than this is not shown as one that runs.
const SHORT_MS: i64 = 1000;

/// So many of the tasks that wait are looked at, the oldest: those behind them wait long.
const MOST_OPEN: u32 = 500;

/// A task with the message that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    pub task: TaskId,
    pub chat_id: String,
    pub message_id: MessageId,
    pub stage: Stage,
}

/// The tasks of a channel that run or wait, of the latter [`MOST_OPEN`] at most, and those of `known` whether
/// they have ended or not.
pub fn of_channel(
    connection: &Connection,
    channel: &ChannelName,
    known: &[&TaskId],
) -> Result<Vec<Staged>, StoreError> {
    // What was added to a task is as far as that task.
    let columns = "id, chat_id, message_id,
                   coalesce((select task.state from additions join inbox as task on task.id = task_id
                             where message_task_id = inbox.id), state),
                   attempt > 0 and updated_at_ms <= ?3";
    let sql = format!(
        "select * from (
             select {columns} from inbox indexed by inbox_queued
             where state = 'queued' and channel = ?1 and message_id is not null /* here: inbox */
             order by seq limit {MOST_OPEN}) as queued
         union select {columns} from inbox indexed by inbox_in_progress
             where state = 'in_progress' and channel = ?1 and message_id is not null /* here: inbox */
         union select {columns} from inbox where channel = ?1 and id in (select value from json_each(?2))
         order by 1"
    );
    let known: Vec<&str> = known.iter().map(|task| task.as_str()).collect();
    let known = serde_json::json!(known).to_string();
    Ok(connection.query_all(&sql, params![channel.as_str(), known, now_ms() - SHORT_MS], staged)?)
}

fn staged(row: &Row<'_>) -> crate::sql::Result<Staged> {
    let state: String = row.get(3)?;
    let stage = match (state.as_str(), row.get(4)?) {
        ("queued" | "in_progress", true) => Stage::Working,
        ("queued" | "in_progress", false) => Stage::Seen,
        ("done", _) => Stage::Done,
        _ => Stage::Ended,
    };
    Ok(Staged {
        task: task_id(row, 0)?,
        chat_id: row.get(1)?,
        message_id: row.get::<String>(2)?.into(),
        stage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CHANNEL, TestDatabase, dead, done, test_chat};

    #[test]
    fn a_message_is_seen_worked_on_and_then_done_or_not() {
        let database = TestDatabase::new();
        let tasks = ["1", "2"].map(|chat| database.enqueue(test_chat(chat), "hello"));
        database.execute("update inbox set message_id = chat_id", []).unwrap();
        let stages = |known: &[&TaskId]| {
            let staged = of_channel(&database, &CHANNEL, known).unwrap();
            staged.into_iter().map(|one| (one.chat_id, one.stage)).collect::<Vec<_>>()
        };
        let both = |first, second| vec![("1".to_owned(), first), ("2".to_owned(), second)];
        assert_eq!(stages(&[]), both(Stage::Seen, Stage::Seen));
        let (first, second) = (database.claim(), database.claim());
        assert_eq!(stages(&[]), both(Stage::Seen, Stage::Seen), "a moment is no stage");
        database.execute("update inbox set updated_at_ms = updated_at_ms - 1000", []).unwrap();
        assert_eq!(stages(&[]), both(Stage::Working, Stage::Working));
        assert!(database.end(&first, done("ok")) && database.end(&second, dead()));
        assert_eq!(stages(&[]), []);
        assert_eq!(stages(&[&tasks[0], &tasks[1]]), both(Stage::Done, Stage::Ended));
    }
}
