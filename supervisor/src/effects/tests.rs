//! Attacks by a tool server that was taken over, at its end of the socket: each is refused, and harms nothing
//! else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use channel::Access;
use process::fd_passing;
use protocol::effect::{Answer, Ask, EffectAnswer, EffectRequest, FileForm, MAX_LINE_BYTES, OutgoingFile};
use protocol::hash::sha256;
use protocol::{ErrorCode, EventId, MessageId, TaskId};
use store::fixture::{Fixture, incoming, test_chat};
use store::inbox;
use tokio_util::sync::CancellationToken;

use super::Effects;
use crate::journal;
use crate::schedules::{ScheduleLimits, Schedules};
use crate::test_channel;

/// The tool server's end, held by somebody else.
struct Attacker {
    fixture: Fixture,
    socket: Arc<UnixStream>,
}

impl Attacker {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let channels = test_channel::channels(Access::without_lists(false));
        let schedules = Schedules::new(&fixture.store, &channels, ScheduleLimits::default());
        let (store, stop) = (fixture.store.clone(), CancellationToken::new());
        let (journal, following) = journal::follow(PathBuf::from("/nonexistent"), store, None, stop);
        tokio::spawn(following);
        let effects = Effects::new(&fixture.store, &channels, &journal, &schedules);
        let socket = Arc::new(UnixStream::from(effects.connect().unwrap()));
        Self { fixture, socket }
    }

    /// Passes these descriptors and then writes these bytes; returns the answer, if there is one.
    async fn send(&self, bytes: Vec<u8>, files: Vec<OwnedFd>) -> Option<EffectAnswer> {
        let socket = Arc::clone(&self.socket);
        let exchange = tokio::task::spawn_blocking(move || exchange(&socket, &bytes, &files));
        tokio::time::timeout(Duration::from_secs(30), exchange).await.expect("it ends").unwrap()
    }

    async fn ask(&self, request: &EffectRequest, file: Option<OwnedFd>) -> EffectAnswer {
        self.ask_with(request, file.into_iter().collect()).await
    }

    async fn ask_with(&self, request: &EffectRequest, files: Vec<OwnedFd>) -> EffectAnswer {
        let line = format!("{}\n", serde_json::to_string(request).unwrap());
        self.send(line.into_bytes(), files).await.expect("an answer")
    }

    async fn left(&self) -> (i64, i64) {
        let files = self.fixture.column("select count(*) from outgoing_files").await[0];
        (self.queued().await, files)
    }

    async fn refused(&self, request: &EffectRequest, file: Option<OwnedFd>) -> ErrorCode {
        self.ask(request, file).await.expect_err("it is refused").code
    }

    async fn queued(&self) -> i64 {
        self.fixture.column("select count(*) from outbox").await[0]
    }

    async fn task(&self, chat: u32, state: &'static str) -> TaskId {
        let run = self.fixture.run.clone();
        let enqueue = move |tx: &store::sql::Connection| {
            let task = inbox::enqueue(tx, &incoming(test_chat(chat), "hello"), &run)?.unwrap();
            if state == "in_progress" {
                let sql = "update inbox set state = 'in_progress', attempt = 1, lease_until_ms = 1
                           where id = ?1";
                tx.execute(sql, [task.as_str()])?;
            }
            Ok(task)
        };
        self.fixture.store.write(enqueue).await.unwrap()
    }
}

fn exchange(socket: &UnixStream, bytes: &[u8], files: &[OwnedFd]) -> Option<EffectAnswer> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let passed: Vec<BorrowedFd<'_>> =
        [theirs.as_fd()].into_iter().chain(files.iter().map(OwnedFd::as_fd)).collect();
    fd_passing::send(socket, b'+', &passed).unwrap();
    drop(theirs);
    let _ = ours.write_all(bytes);
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut line = String::new();
    BufReader::new(ours).read_line(&mut line).unwrap_or_default();
    serde_json::from_str(&line).ok()
}

fn asking(ask: Ask) -> EffectRequest {
    EffectRequest { call: EventId::new(), session: "test:7".parse().unwrap(), task: None, ask }
}

fn reaction(chat: &str) -> EffectRequest {
    let (message_id, emoji) = (Some(MessageId::from(7)), "👍".to_owned());
    asking(Ask::React { chat: chat.to_owned(), message_id, emoji, is_big: false })
}

fn outgoing(bytes: &[u8]) -> OutgoingFile {
    let size_bytes = bytes.len().try_into().unwrap();
    OutgoingFile { form: FileForm::Document, name: "a".to_owned(), size_bytes, sha256: sha256(bytes) }
}

fn sending(files: Vec<OutgoingFile>) -> Ask {
    Ask::SendFiles { chat: "test:7".to_owned(), caption: String::new(), files }
}

fn file_of(bytes: &[u8]) -> Ask {
    sending(vec![outgoing(bytes)])
}

fn file(bytes: &[u8]) -> OwnedFd {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_chat_and_a_task_that_does_not_run_are_refused() {
    let attacker = Attacker::new().await;
    for (session, chat, code) in [
        ("test:7", "test:666", ErrorCode::ToolNotAllowed),
        ("test:666", "test:7", ErrorCode::ToolNotAllowed),
        ("test:7", "telegram:7", ErrorCode::ToolNotAllowed),
        ("test:7", "7", ErrorCode::ToolNotAllowed),
        ("nowhere:7", "nowhere:7", ErrorCode::ToolNotAllowed),
        ("default", "test:7", ErrorCode::ToolNotAllowed),
    ] {
        let request = EffectRequest { session: session.parse().unwrap(), ..reaction(chat) };
        assert_eq!(attacker.refused(&request, None).await, code, "{session} {chat}");
    }
    let others = attacker.task(8, "in_progress").await;
    let waits = attacker.task(7, "queued").await;
    for task in [others, waits, TaskId::new()] {
        let request = EffectRequest { task: Some(task), ..reaction("test:7") };
        assert_eq!(attacker.refused(&request, None).await, ErrorCode::Cancelled);
    }
    assert_eq!(attacker.queued().await, 0);
    let runs = attacker.task(7, "in_progress").await;
    let request = EffectRequest { task: Some(runs), ..reaction("test:7") };
    let first = attacker.ask(&request, None).await.unwrap();
    assert_eq!(attacker.ask(&request, None).await.unwrap(), first, "a repeated request adds nothing");
    assert_eq!(attacker.queued().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_a_regular_one_with_the_bytes_that_were_named() {
    let attacker = Attacker::new().await;
    let (named, (reader, _writer)) = (b"what was approved", std::io::pipe().unwrap());
    let directory: OwnedFd = std::fs::File::open("/").unwrap().into();
    let null: OwnedFd = std::fs::File::open("/dev/zero").unwrap().into();
    for (given, code) in [
        (None, ErrorCode::NotARegularFile),
        (Some(reader.into()), ErrorCode::NotARegularFile),
        (Some(directory), ErrorCode::NotARegularFile),
        (Some(null), ErrorCode::NotARegularFile),
        (Some(file(b"")), ErrorCode::InvalidArgument),
        (Some(file(b"what was not!!!!!")), ErrorCode::Conflict),
        (Some(file(b"another length")), ErrorCode::Conflict),
    ] {
        assert_eq!(attacker.refused(&asking(file_of(named)), given).await, code);
    }
    let huge = tempfile::tempfile().unwrap();
    huge.set_len(50_000_001).unwrap();
    assert_eq!(attacker.refused(&asking(file_of(named)), Some(huge.into())).await, ErrorCode::FileTooLarge);
    assert_eq!(attacker.left().await, (0, 0));
    let sent = attacker.ask(&asking(file_of(named)), Some(file(named))).await.unwrap();
    assert!(matches!(sent, Answer::Queued { .. }), "{sent:?}");
    let stored: Vec<Vec<u8>> = attacker.fixture.column("select bytes from outgoing_parts").await;
    assert_eq!(stored, [named.to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_files_all_are_sent_in_order_or_none() {
    let attacker = Attacker::new().await;
    let (one, two) = (b"one".as_slice(), b"two".as_slice());
    let ask = async |named: Vec<OutgoingFile>, given: &[&[u8]]| {
        attacker.ask_with(&asking(sending(named)), given.iter().map(|bytes| file(bytes)).collect()).await
    };
    let huge = OutgoingFile { size_bytes: 50_000_000, ..outgoing(one) };
    for (named, given, code) in [
        (vec![], vec![], ErrorCode::InvalidArgument),
        (vec![outgoing(one); 11], vec![one; 10], ErrorCode::InvalidArgument),
        (vec![outgoing(one); 2], vec![one], ErrorCode::NotARegularFile),
        (vec![outgoing(one), outgoing(two)], vec![two, one], ErrorCode::Conflict),
        (vec![outgoing(one), outgoing(two)], vec![one, b"2wo"], ErrorCode::Conflict),
        (vec![huge.clone(), huge, outgoing(one)], vec![one; 3], ErrorCode::FileTooLarge),
    ] {
        let described = format!("{named:?}");
        assert_eq!(ask(named, &given).await.unwrap_err().code, code, "{described}");
        assert_eq!(attacker.left().await, (0, 0), "{described}");
    }
    // This channel has no albums; a descriptor too many is of no use.
    ask(vec![outgoing(one), outgoing(two)], &[one, two, one]).await.unwrap();
    let sent = "select cast(bytes as text) from outbox join outgoing_parts using (file_id)
                where album is null order by seq";
    assert_eq!(attacker.fixture.column::<String>(sent).await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_dropped_and_the_next_request_is_answered() {
    let attacker = Attacker::new().await;
    let whole = serde_json::to_vec(&reaction("test:7")).unwrap();
    let mut more_than_it_has = whole.clone();
    more_than_it_has.pop();
    more_than_it_has.extend(b",\"more\":1}\n");
    for bytes in
        [Vec::new(), whole[..whole.len() / 2].to_vec(), whole.clone(), vec![b'x'; MAX_LINE_BYTES + 10]]
    {
        assert_eq!(attacker.send(bytes, Vec::new()).await, None, "half a request has no answer");
    }
    for line in [more_than_it_has, b"{}\n".to_vec(), b"\xff\xfe\n".to_vec()] {
        let answer = attacker.send(line, Vec::new()).await.unwrap();
        assert_eq!(answer.unwrap_err().code, ErrorCode::Internal);
    }
    // What is no stream: a pipe, a file, nothing.
    let (reader, _writer) = std::io::pipe().unwrap();
    fd_passing::send(&*attacker.socket, b'+', &[reader.as_fd()]).unwrap();
    fd_passing::send(&*attacker.socket, b'+', &[file(b"x").as_fd()]).unwrap();
    fd_passing::send(&*attacker.socket, b'?', &[]).unwrap();
    assert_eq!(attacker.queued().await, 0);
    assert!(attacker.ask(&reaction("test:7"), None).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_messages_add_no_more_than_the_rate_and_keep_no_other_chat_waiting() {
    let attacker = Attacker::new().await;
    let socket = Arc::clone(&attacker.socket);
    let is_refused = move |_: &i32| {
        let line = format!("{}\n", serde_json::to_string(&reaction("test:7")).unwrap());
        let answer = exchange(&socket, line.as_bytes(), &[]).expect("each is answered");
        answer.is_err_and(|error| error.code == ErrorCode::QuotaExceeded)
    };
    let flood = tokio::task::spawn_blocking(move || (0..10_000).filter(is_refused).count());
    let other = EffectRequest { session: "test:8".parse().unwrap(), ..reaction("test:8") };
    assert!(attacker.ask(&other, None).await.is_ok());
    let refused = flood.await.unwrap();
    assert!(refused > 9_700, "{refused}");
    assert!(attacker.queued().await <= 301);
}
