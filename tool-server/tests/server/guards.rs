//! What holds for every tool, shown with tools that only this test has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{Settings, TestServer};
use protocol::journal::RecordBody;
use protocol::{Annotations, Envelope, ErrorCode, JournalRecord, Risk, Status, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

/// A tool that does what its test says.
struct Scripted<F>(F);

/// No arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// No data.
#[derive(Default, Serialize, JsonSchema)]
struct NoData {}

impl<F: Fn(&Call) -> Result<(), ToolError> + Send + Sync + 'static> Tool for Scripted<F> {
    type Arguments = Nothing;
    type Data = NoData;
    const NAME: &'static str = "test_scripted";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({})
    }

    touches_nothing!();

    fn run(&self, _: Nothing, call: &Call) -> Outcome<NoData> {
        (self.0)(call)?;
        Ok(Success::default())
    }
}

async fn server_with<F>(timeout: Duration, act: F) -> TestServer
where
    F: Fn(&Call) -> Result<(), ToolError> + Send + Sync + 'static,
{
    let settings = Settings { timeout, ..Settings::default() };
    TestServer::start_with(settings, |registry| registry.with(Scripted(act)).unwrap()).await
}

fn spin(call: &Call) -> Result<(), ToolError> {
    loop {
        call.check()?;
        std::thread::yield_now();
    }
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_tool_that_panics_gives_an_internal_error_and_harms_no_other_call() {
    let server = server_with(LONG, |_| panic!("a mistake")).await;
    let (status, _, envelope) = server.post("test_scripted", &json!({})).await;
    assert_eq!(status, 500);
    assert_eq!(envelope.meta.error.unwrap().code, ErrorCode::Internal);
    assert_eq!((envelope.ok, envelope.exit_code, envelope.meta.status), (false, 1, Status::Error));
    assert!(server.call("ls", json!({})).await.ok);
    assert!(matches!(server.journal()[1].body, RecordBody::Failed(_)));
}

#[tokio::test]
async fn a_tool_that_notices_its_deadline_gives_a_timeout() {
    let server = server_with(Duration::from_millis(50), spin).await;
    let (status, _, envelope) = server.post("test_scripted", &json!({})).await;
    assert_eq!((status, envelope.exit_code), (504, 124));
    assert_eq!(envelope.meta.error.unwrap().code, ErrorCode::Timeout);
}

/// A server whose tool waits until the sender is dropped.
async fn server_behind_a_door(timeout: Duration) -> (TestServer, Sender<()>) {
    let (door, opened) = channel();
    let opened = Mutex::new(opened);
    let act = move |_: &Call| {
        assert!(opened.lock().unwrap().recv().is_err());
        Ok(())
    };
    (server_with(timeout, act).await, door)
}

#[tokio::test]
async fn a_tool_that_hangs_is_answered_at_its_deadline_and_recorded_once() {
    let (server, door) = server_behind_a_door(Duration::from_millis(50)).await;
    let (status, _, envelope) = server.post("test_scripted", &json!({})).await;
    assert_eq!(status, 504);
    assert_eq!(envelope.meta.error.unwrap().code, ErrorCode::Timeout);
    drop(door);
    assert!(server.call("ls", json!({})).await.ok);
    let is_end = |record: &JournalRecord| record.parent_id.as_ref() == Some(&envelope.meta.call_id);
    assert_eq!(server.journal().iter().filter(|record| is_end(record)).count(), 1);
}

#[tokio::test]
async fn a_flood_is_refused_with_overloaded_and_the_time_to_wait() {
    let (server, door) = server_behind_a_door(LONG).await;
    let hold = || tokio::spawn(server.request("test_scripted", &json!({})).send());
    let holding: Vec<_> = (0..32).map(|_| hold()).collect();
    wait_until(|| server.journal().len() == 32).await;
    let (status, headers, envelope) = server.post("test_scripted", &json!({})).await;
    assert_eq!(status, 503);
    assert_eq!(headers["retry-after"], "1");
    assert_eq!(envelope.meta.error.unwrap().code, ErrorCode::Overloaded);
    let write = || {
        let write = server.request("write", &json!({"path": "a", "content": "x"}));
        write.header("Idempotency-Key", "k").send()
    };
    assert_eq!(write().await.unwrap().status(), 503);
    drop(door);
    for call in holding {
        assert!(call.await.unwrap().unwrap().json::<Envelope>().await.unwrap().ok);
    }
    let written: Envelope = write().await.unwrap().json().await.unwrap();
    assert!(written.ok, "the refused call left its key free: {}", written.stderr);
}

#[tokio::test]
async fn a_call_whose_caller_disconnects_is_cancelled_and_recorded() {
    let began = Arc::new(AtomicBool::new(false));
    let inner = Arc::clone(&began);
    let server = server_with(LONG, move |call| {
        inner.store(true, Ordering::SeqCst);
        spin(call)
    })
    .await;
    let call = tokio::spawn(server.request("test_scripted", &json!({})).send());
    wait_until(|| began.load(Ordering::SeqCst)).await;
    call.abort();
    wait_until(|| server.journal().len() == 2).await;
    let RecordBody::Failed(ended) = &server.journal()[1].body else { panic!("the call has no end") };
    assert_eq!(ended.failure.as_ref().unwrap().error_code, "CANCELLED");
}

#[tokio::test]
async fn a_refused_call_is_recorded_too() {
    let server = TestServer::start().await;
    let (status, _, envelope) = server.post("cat", &json!({"path": "a"})).await;
    assert_eq!(status, 404);
    assert!(envelope.meta.error.unwrap().hint.contains("The tools are: ask_user, bash, delete, edit, "));
    let records = server.journal();
    assert_eq!(records[0].id, envelope.meta.call_id);
    assert!(matches!(records[1].body, RecordBody::Failed(_)));
}

/// Looks until the state is there, for at most ten seconds.
async fn wait_until(state: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while !state() {
        assert!(Instant::now() < give_up, "the state was not reached");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
