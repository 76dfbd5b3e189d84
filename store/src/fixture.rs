//! Databases for tests, which go away: with one run's `process.started` in them.
//!
//! They are SQLite files. Where the variable [`SERVER`] has the URL of a PostgreSQL server, each is a schema
//! there.

#![allow(missing_docs, clippy::unwrap_used, clippy::new_without_default, reason = "only tests use it")]

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use protocol::event::{ProcessStarted, ToolCallCompleted, ToolCallStarted, TurnCompleted};
use protocol::journal::{CallEnded, CallStarted};
use protocol::{Event, EventBody, EventId, ReplyFormat, Risk, SessionId, TaskId};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::attempt::{self, Ending};
use super::claim::{self, Claim, Claimed};
use super::inbox::{self, IncomingMessage};
use super::sql::address::ServerAddress;
use super::sql::server::Session;
use super::sql::{self, Connection, FromSql};
use super::{Location, Store, events, open, outbox};
use channel::attachment::Attachment;
use channel::content::{File, FileBody};
use channel::formatting::FormattedText;
use channel::update_sink::UpdateSink;
use channel::{
    Access, BoxFuture, Channel, ChannelName, Channels, Chat, Content, Delivery, Outgoing, Rejection,
    SendOutcome,
};
use texts::Language;

/// A channel that the program does not have: to the store one is like another.
pub const CHANNEL: ChannelName = ChannelName::new("test");

/// A chat of [`CHANNEL`].
pub fn test_chat(id: impl std::fmt::Display) -> Chat {
    Chat::new(CHANNEL, id)
}

pub fn local_chat() -> Chat {
    Chat::new(LOCAL, "local")
}

/// The local channel alone: replies to other chats are queued whole.
pub fn channels() -> Channels {
    Channels::new([Arc::new(Local(Access::without_lists(true))) as Arc<dyn Channel>])
}

const LOCAL: ChannelName = ChannelName::new("local");

/// A channel whose replies are fetched, as the control port's is.
struct Local(Access);

impl Channel for Local {
    fn name(&self) -> ChannelName {
        LOCAL
    }

    fn delivery(&self) -> Delivery {
        Delivery::Pull
    }

    fn access(&self) -> &Access {
        &self.0
    }

    fn receive(self: Arc<Self>, _: Box<dyn UpdateSink>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(stop.cancelled_owned())
    }

    fn decorate(&self, reply: &str, _: ReplyFormat, _: Language) -> Vec<Content> {
        vec![Content::Text(reply.to_owned())]
    }

    fn prepare(&self, _: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        Ok(vec![content])
    }

    fn send<'a>(&'a self, _: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        Box::pin(std::future::ready(SendOutcome::Sent { message_ids: Vec::new() }))
    }
}

/// The URL of a PostgreSQL server on which the same tests run.
pub const SERVER: &str = "AUTONOUS_TEST_DATABASE_URL";

/// Where the database of one test is.
pub struct Place {
    pub location: Location,
    pub directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let mut place = Self::in_a_file();
        let Ok(url) = std::env::var(SERVER) else { return place };
        let server = ServerAddress::parse(&url).unwrap();
        let id = Event::now(started(), None, None).id;
        let schema = format!("test_{}", id.as_str().replace('-', ""));
        on(&server, &format!("create schema {schema}"));
        place.location = Location::Server(Arc::new(server.in_schema(&schema)));
        place
    }

    fn in_a_file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { location: directory.path().join("autonous.db").into(), directory }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Location::Server(address) = &self.location {
            on(address, &format!("drop schema {} cascade", address.schema().unwrap()));
        }
    }
}

/// Runs statements on a server.
pub fn on(server: &ServerAddress, sql: &str) {
    try_on(server, sql).unwrap();
}

/// The same, where the server may refuse.
pub fn try_on(server: &ServerAddress, sql: &str) -> sql::Result<()> {
    // On a thread of its own: the client waits, which the threads of a test's runtime may not.
    let (server, sql) = (Arc::new(server.clone()), sql.to_owned());
    std::thread::spawn(move || Session::connect(&server, false)?.change(&sql)).join().unwrap()
}

/// A database behind a [`Store`].
pub struct Fixture {
    pub store: Store,
    pub run: EventId,
    pub place: Place,
}

impl Fixture {
    pub async fn new() -> Self {
        let open = || {
            let TestDatabase { run, place, .. } = TestDatabase::new();
            (Store::open(&place.location).unwrap(), run, place)
        };
        let (store, run, place) = tokio::task::spawn_blocking(open).await.unwrap();
        Self { store, run, place }
    }

    /// The first column of the rows of a query.
    pub async fn column<T: FromSql + Send + 'static>(&self, sql: &'static str) -> Vec<T> {
        self.store.write(move |tx| Ok(column(tx, sql))).await.unwrap()
    }
}

/// A database without a thread of its own.
pub struct TestDatabase {
    connection: Connection,
    pub run: EventId,
    place: Place,
}

impl Deref for TestDatabase {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl TestDatabase {
    pub fn new() -> Self {
        Self::at(Place::new())
    }

    /// One whose steps and plans are those of SQLite.
    pub fn in_a_file() -> Self {
        Self::at(Place::in_a_file())
    }

    fn at(place: Place) -> Self {
        let connection = open::for_writing(&place.location).unwrap();
        if let Some(file) = connection.sqlite() {
            file.pragma_update(None, "synchronous", "off").unwrap();
        }
        let started = Event::now(started(), None, None);
        events::append(&connection, &started).unwrap();
        Self { connection, run: started.id, place }
    }

    /// A database with one task, which is running.
    pub fn with_claimed(chat: Chat) -> (Self, Claimed) {
        let database = Self::new();
        database.enqueue(chat, "hello");
        let task = database.claim();
        (database, task)
    }

    pub fn location(&self) -> &Location {
        &self.place.location
    }

    pub fn append(
        &self,
        body: impl Into<EventBody>,
        parent: Option<&EventId>,
        task: Option<&TaskId>,
    ) -> EventId {
        let event = Event::now(body, parent, task);
        events::append(self, &event).unwrap();
        event.id
    }

    pub fn enqueue(&self, chat: Chat, text: &str) -> TaskId {
        inbox::enqueue(self, &incoming(chat, text), &self.run).unwrap().unwrap()
    }

    /// Queues messages to a chat, and returns the numbers of their rows.
    pub fn queue(&self, chat: &Chat, contents: Vec<Content>) -> Vec<i64> {
        outbox::queue(self, None, chat, contents, Delivery::Push, Some(&self.run)).unwrap()
    }

    pub fn try_claim(&self) -> Claim {
        claim::claim(self, Duration::from_secs(60), &self.run).unwrap()
    }

    pub fn claim(&self) -> Claimed {
        match self.try_claim() {
            Claim::Task(task) => *task,
            Claim::Nothing { until_ms } => panic!("nothing to claim; the next task is due at {until_ms:?}"),
            Claim::Exhausted(exhausted) => {
                panic!("nothing to claim: {}", exhausted.limit.in_words(Language::English))
            }
        }
    }

    pub fn end(&self, task: &Claimed, ending: Ending) -> bool {
        attempt::end(self, &channels(), task, &ending).unwrap()
    }

    /// The first column of the rows of a query.
    pub fn column<T: FromSql>(&self, sql: &str) -> Vec<T> {
        column(self, sql)
    }

    /// The same as texts.
    pub fn texts(&self, sql: &str) -> Vec<String> {
        self.column(sql)
    }

    /// Checks that none of these statements succeeds.
    pub fn refuses(&self, statements: &[&str]) {
        for sql in statements {
            assert!(self.execute(sql, []).is_err(), "{sql}");
        }
    }
}

fn column<T: FromSql>(connection: &Connection, sql: &str) -> Vec<T> {
    connection.query_all(sql, [], |row| row.get(0)).unwrap()
}

pub fn incoming(chat: Chat, text: &str) -> IncomingMessage {
    IncomingMessage { chat, update_id: None, message_id: None, text: text.to_owned(), origin: None }
}

/// A file that comes with a message.
pub fn attachment(kind: &'static str) -> Attachment {
    let (source, kind) = (kind.to_owned(), kind.into());
    Attachment { source, kind, media_type: None, file_name: None, size_bytes: Some(7) }
}

/// A file that leaves, without a caption.
pub fn file(name: &str, body: FileBody) -> File {
    File { name: name.to_owned(), caption: FormattedText::plain(""), body, media: None }
}

pub fn done(reply: &str) -> Ending {
    Ending::Done { reply: reply.to_owned(), format: ReplyFormat::Markdown }
}

pub fn dead() -> Ending {
    Ending::Dead { error: "no model".to_owned(), reply: "I could not do it.".to_owned() }
}

pub fn retry(after_seconds: u64) -> Ending {
    Ending::Retry { error: "silent".to_owned(), after: Duration::from_secs(after_seconds) }
}

pub fn started() -> ProcessStarted {
    let (control_url, tool_url) = ("http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned());
    ProcessStarted { pid: 1, version: "0".to_owned(), control_url, tool_url }
}

pub fn call_started(tool_name: &str, path: &str) -> ToolCallStarted {
    let call = CallStarted {
        tool_name: tool_name.to_owned(),
        token: None,
        arguments: [("path".to_owned(), Value::from(path))].into_iter().collect(),
        arguments_sha256: None,
        arguments_file: None,
        risk: Risk::High,
        request_id: None,
        traceparent: None,
    };
    ToolCallStarted { call, session_id: SessionId::default_session() }
}

/// A turn with this many tokens of input, of which so many were cached, and of output.
pub fn turn(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> TurnCompleted {
    TurnCompleted {
        model_name: "m".to_owned(),
        provider: None,
        latency_ms: 1,
        input_tokens,
        cached_input_tokens,
        output_tokens,
        tool_calls: 0,
        cut: false,
        cost_micros: None,
    }
}

pub fn call_completed(output_text: &str) -> ToolCallCompleted {
    let call = CallEnded {
        tool_name: "read".to_owned(),
        token: None,
        exit_code: 0,
        failure: None,
        output_text: output_text.to_owned(),
        output_file: None,
        latency_ms: 1,
        truncated_lines: false,
        truncated_bytes: false,
        path_resolved: None,
        change: None,
        created_control_files: Vec::new(),
        network_refused: Vec::new(),
        allowed_tools: None,
    };
    ToolCallCompleted { call, session_id: SessionId::default_session() }
}
