//! Commands that need the tool server: stored with their message, and answered after the commit, also if the
//! supervisor is killed in between.

use channel::{Chat, Content, Delivery};
use protocol::TaskId;

use super::columns::{chat, task_id};
use super::sql::{Connection, Row, params};
use super::{StoreError, outbox};

/// What a chat wants of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The message that asked.
    pub task: TaskId,
    pub chat: Chat,
    pub kind: Kind,
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The entries of a directory.
    List,
    /// A file as it is.
    Send,
    /// That the changes of a task are undone; the path is the task's ID.
    Undo,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Send => "send",
            Self::Undo => "undo",
        }
    }

    fn of(text: &str) -> Self {
        [Self::List, Self::Undo].into_iter().find(|kind| kind.as_str() == text).unwrap_or(Self::Send)
    }
}

pub fn add(connection: &Connection, request: &FileRequest) -> Result<(), StoreError> {
    let FileRequest { task, chat, kind, path } = request;
    let sql = "insert into file_requests (task_id, channel, chat_id, kind, path) values (?1, ?2, ?3, ?4, ?5)";
    connection.execute(sql, params![task.as_str(), chat.channel.as_str(), chat.id, kind.as_str(), path])?;
    Ok(())
}

/// The oldest of those that are not answered.
pub fn oldest(connection: &Connection, most: usize) -> Result<Vec<FileRequest>, StoreError> {
    let sql = "select file_requests.task_id, file_requests.channel, file_requests.chat_id, kind, path
               from file_requests join inbox on inbox.id = task_id where true /* here: inbox */
               order by inbox.seq limit ?1";
    Ok(connection.query_all(sql, [i64::try_from(most).unwrap_or(i64::MAX)], request)?)
}

/// Queues the answer; one that was answered meanwhile stays so.
pub fn answer(
    connection: &Connection,
    request: &FileRequest,
    answer: Vec<Content>,
    delivery: Delivery,
) -> Result<(), StoreError> {
    let sql = "delete from file_requests where task_id = ?1";
    if connection.execute(sql, [request.task.as_str()])? == 1 {
        outbox::queue(connection, Some(&request.task), &request.chat, answer, delivery, None)?;
    }
    Ok(())
}

fn request(row: &Row<'_>) -> crate::sql::Result<FileRequest> {
    let kind: String = row.get(3)?;
    Ok(FileRequest { task: task_id(row, 0)?, chat: chat(row, 1)?, kind: Kind::of(&kind), path: row.get(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    #[test]
    fn a_request_is_answered_once_and_in_order() {
        let database = TestDatabase::new();
        let add_one = |kind, path: &str| {
            let task = database.enqueue(test_chat(1), "/files");
            add(&database, &FileRequest { task, chat: test_chat(1), kind, path: path.to_owned() }).unwrap();
        };
        add_one(Kind::Send, "b");
        add_one(Kind::Undo, "a");
        let waiting = oldest(&database, 5).unwrap();
        let told: Vec<_> = waiting.iter().map(|request| (request.kind, request.path.as_str())).collect();
        assert_eq!(told, [(Kind::Send, "b"), (Kind::Undo, "a")]);
        for _ in 0..2 {
            let content = vec![Content::Text("here".to_owned())];
            answer(&database, &waiting[0], content, Delivery::Push).unwrap();
        }
        assert_eq!(database.texts("select text from outbox"), ["here"]);
        assert_eq!(oldest(&database, 5).unwrap(), waiting[1..]);
    }
}
