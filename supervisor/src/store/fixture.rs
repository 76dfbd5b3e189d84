//! Databases for tests: real files in a directory that goes away, with one run's `process.started` in them.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::event::{ProcessStarted, ToolCallCompleted, ToolCallStarted};
use protocol::journal::{CallEnded, CallStarted};
use protocol::{Event, EventBody, EventId, ReplyFormat, Risk, SessionId, TaskId};
use rusqlite::Connection;
use rusqlite::types::FromSql;
use serde_json::Value;
use tempfile::TempDir;

use super::attempt::{self, Ending};
use super::claim::{self, Claim, Claimed};
use super::inbox::{self, IncomingMessage};
use super::{Store, events, open};
use crate::channel::{Channel, ChannelName, Channels, Chat};
use crate::channels::local::{self, Local};

/// A channel that the program does not have: to the store one is like another.
pub(crate) const CHANNEL: ChannelName = ChannelName::new("test");

/// A chat of [`CHANNEL`].
pub(crate) fn test_chat(id: impl std::fmt::Display) -> Chat {
    Chat::new(CHANNEL, id)
}

pub(crate) fn local_chat() -> Chat {
    Chat::new(local::NAME, "local")
}

/// The local channel alone: replies to other chats are queued whole.
pub(crate) fn channels() -> Channels {
    Channels::new([Arc::new(Local::default()) as Arc<dyn Channel>])
}

/// A database behind a [`Store`].
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) run: EventId,
    pub(crate) directory: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let TestDatabase { run, directory, .. } = TestDatabase::new();
        let store = Store::open(&directory.path().join("autonous.db")).unwrap();
        Self { store, run, directory }
    }

    /// The first column of the rows of a query.
    pub(crate) async fn column<T: FromSql + Send + 'static>(&self, sql: &'static str) -> Vec<T> {
        self.store.write(move |tx| Ok(column(tx, sql))).await.unwrap()
    }
}

/// A database without a thread of its own.
pub(crate) struct TestDatabase {
    connection: Connection,
    pub(crate) run: EventId,
    directory: TempDir,
}

impl Deref for TestDatabase {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl TestDatabase {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let connection = open::for_writing(&directory.path().join("autonous.db")).unwrap();
        connection.pragma_update(None, "synchronous", "off").unwrap();
        let started = Event::now(started(), None, None);
        events::append(&connection, &started).unwrap();
        Self { connection, run: started.id, directory }
    }

    /// A database with one task, which is running.
    pub(crate) fn with_claimed(chat: Chat) -> (Self, Claimed) {
        let database = Self::new();
        database.enqueue(chat, "hello");
        let task = database.claim();
        (database, task)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("autonous.db")
    }

    pub(crate) fn append(
        &self,
        body: impl Into<EventBody>,
        parent: Option<&EventId>,
        task: Option<&TaskId>,
    ) -> EventId {
        let event = Event::now(body, parent, task);
        events::append(self, &event).unwrap();
        event.id
    }

    pub(crate) fn enqueue(&self, chat: Chat, text: &str) -> TaskId {
        inbox::enqueue(self, &incoming(chat, text), &self.run).unwrap().unwrap()
    }

    pub(crate) fn try_claim(&self) -> Claim {
        claim::claim(self, Duration::from_secs(60), &self.run).unwrap()
    }

    pub(crate) fn claim(&self) -> Claimed {
        match self.try_claim() {
            Claim::Task(task) => *task,
            Claim::Nothing { until_ms } => panic!("nothing to claim; the next task is due at {until_ms:?}"),
            Claim::Exhausted(exhausted) => panic!("nothing to claim: {}", exhausted.limit),
        }
    }

    pub(crate) fn end(&self, task: &Claimed, ending: Ending) -> bool {
        attempt::end(self, &channels(), task, &ending).unwrap()
    }

    /// The first column of the rows of a query.
    pub(crate) fn column<T: FromSql>(&self, sql: &str) -> Vec<T> {
        column(self, sql)
    }

    /// The same as texts.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        self.column(sql)
    }

    /// Checks that none of these statements succeeds.
    pub(crate) fn refuses(&self, statements: &[&str]) {
        for sql in statements {
            assert!(self.execute(sql, []).is_err(), "{sql}");
        }
    }
}

fn column<T: FromSql>(connection: &Connection, sql: &str) -> Vec<T> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn incoming(chat: Chat, text: &str) -> IncomingMessage {
    IncomingMessage { chat, update_id: None, message_id: None, text: text.to_owned(), origin: None }
}

pub(crate) fn done(reply: &str) -> Ending {
    Ending::Done { reply: reply.to_owned(), format: ReplyFormat::Markdown }
}

pub(crate) fn dead() -> Ending {
    Ending::Dead { error: "no model".to_owned(), reply: "I could not do it.".to_owned() }
}

pub(crate) fn retry(after_seconds: u64) -> Ending {
    Ending::Retry { error: "silent".to_owned(), after: Duration::from_secs(after_seconds) }
}

pub(crate) fn started() -> ProcessStarted {
    let (control_url, tool_url) = ("http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned());
    ProcessStarted { pid: 1, version: "0".to_owned(), control_url, tool_url }
}

pub(crate) fn call_started(tool_name: &str, path: &str) -> ToolCallStarted {
    let call = CallStarted {
        tool_name: tool_name.to_owned(),
        arguments: [("path".to_owned(), Value::from(path))].into_iter().collect(),
        arguments_sha256: None,
        arguments_file: None,
        risk: Risk::High,
        request_id: None,
        traceparent: None,
    };
    ToolCallStarted { call, session_id: SessionId::default_session() }
}

pub(crate) fn call_completed(output_text: &str) -> ToolCallCompleted {
    let call = CallEnded {
        tool_name: "read".to_owned(),
        exit_code: 0,
        failure: None,
        output_text: output_text.to_owned(),
        latency_ms: 1,
        truncated_lines: false,
        truncated_bytes: false,
        path_resolved: None,
        change: None,
        created_control_files: Vec::new(),
        allowed_tools: None,
    };
    ToolCallCompleted { call, session_id: SessionId::default_session() }
}
