//! Who is asked, and what they read afterwards: against a played tool server and a real database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use channel::Access;
use futures_util::stream;
use protocol::{EventId, now_ms};
use serde_json::{Value, json};
use store::approvals::{Decision, keep};
use store::fixture::Fixture;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::client::{Approvals, Outcome};
use super::follow::{Asker, Follower};
use super::words::Choice;
use crate::cancel_signal::CancelSignal;
use crate::test_channel;

const TOKEN: &str = "approver";

/// The approvals, and who hears of changes.
struct Played {
    approvals: Mutex<Vec<Value>>,
    changes: broadcast::Sender<String>,
    /// Whether the next decision finds a server that ends and is there again at once.
    restarts: AtomicBool,
}

impl Played {
    /// Serves on a port of its own; returns its address.
    async fn start() -> (Arc<Self>, String) {
        let changes = broadcast::channel(16).0;
        let restarts = AtomicBool::new(false);
        let played = Arc::new(Self { approvals: Mutex::default(), changes, restarts });
        let routes = Router::new()
            .route("/approvals", get(list))
            .route("/approvals/stream", get(follow))
            .route("/approvals/{id}", get(one).post(decide))
            .with_state(Arc::clone(&played));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (played, url)
    }

    /// Adds one that waits, and tells of it if `aloud`.
    fn request(&self, id: &EventId, session: &str, aloud: bool) {
        let approval = json!({
            "id": id, "state": "pending", "tool": "delete", "arguments": {"path": "a"}, "preview": "-a",
            "reason": "It deletes.", "session": session, "created_at_ms": 1, "expires_at_ms": 2,
            "risk": "high", "rule": "policy.toml, line 1", "token": "caller", "digest": "",
        });
        self.approvals.lock().unwrap().push(approval.clone());
        if aloud {
            self.tell("requested", &approval);
        }
    }

    fn tell(&self, kind: &str, approval: &Value) {
        let _ = self.changes.send(format!("event: {kind}\ndata: {approval}\n\n"));
    }

    fn set(&self, id: &str, decision: Value) -> Result<Value, StatusCode> {
        let mut approvals = self.approvals.lock().unwrap();
        let found =
            approvals.iter_mut().find(|approval| approval["id"] == id).ok_or(StatusCode::NOT_FOUND)?;
        if found["state"] != "pending" {
            return Err(StatusCode::CONFLICT);
        }
        found["state"] = if decision["decision"] == "grant" { "granted" } else { "denied" }.into();
        found["decision"] = json!({"scope": "call", "decided_at_ms": 1});
        found["decision"].as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
        Ok(found.clone())
    }
}

fn may(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|token| token == format!("Bearer {TOKEN}").as_str())
}

async fn list(
    State(played): State<Arc<Played>>,
    Query(query): Query<Value>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusCode> {
    if !may(&headers) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let approvals = played.approvals.lock().unwrap().clone();
    let wanted = |approval: &Value| query["state"].is_null() || approval["state"] == query["state"];
    Ok(Json(json!({"approvals": approvals.into_iter().filter(wanted).collect::<Vec<_>>()})))
}

async fn one(State(played): State<Arc<Played>>, Path(id): Path<String>) -> Result<Json<Value>, StatusCode> {
    let approvals = played.approvals.lock().unwrap();
    let found = approvals.iter().find(|approval| approval["id"] == id.as_str());
    found.cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn decide(
    State(played): State<Arc<Played>>,
    Path(id): Path<String>,
    Json(decision): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    if played.restarts.swap(false, Ordering::SeqCst) {
        let _ = played.changes.send("end".to_owned());
        panic!("the connection ends without an answer");
    }
    let decided = played.set(&id, decision)?;
    played.tell("decided", &decided);
    Ok(Json(decided))
}

async fn follow(State(played): State<Arc<Played>>) -> Response {
    let changes = played.changes.subscribe();
    let events = stream::unfold(changes, |mut changes| async move {
        let event = changes.recv().await.ok().filter(|event| event != "end")?;
        Some((Ok::<_, std::io::Error>(event), changes))
    });
    axum::body::Body::from_stream(events).into_response()
}

fn approvals(url: &str) -> Approvals {
    Approvals::new(url, TOKEN).unwrap()
}

fn follower(approvals: &Approvals, asker: Asker) -> Follower {
    Follower {
        approvals: approvals.clone(),
        asker,
        cancel_signal: CancelSignal::default(),
        since_ms: now_ms(),
    }
}

/// What somebody decided with a button.
fn pressed(id: &str, choice: Choice, by: &str) -> Decision {
    Decision { approval: id.to_owned(), choice, by: by.to_owned(), reason: None, answer: None }
}

fn following(fixture: &Fixture, url: &str) -> (Approvals, CancellationToken) {
    let approvals = approvals(url);
    // Chat 7 has an approver and chat 8 none; approvers are 7 and 9.
    let access = Access::without_lists(false);
    ["7", "9"].iter().for_each(|person| access.set_paired(person, true));
    let channels = test_channel::channels(access);
    let asker = Asker { store: fixture.store.clone(), channels, run: fixture.run.clone() };
    let stop = CancellationToken::new();
    tokio::spawn(follower(&approvals, asker).follow(stop.clone()));
    (approvals, stop)
}

/// A server with an approval that chat 7 has been asked about.
async fn asked(fixture: &Fixture) -> (Arc<Played>, EventId, Approvals, CancellationToken) {
    let (played, url) = Played::start().await;
    let id = EventId::new();
    played.request(&id, "test:7", false);
    let (approvals, stop) = following(fixture, &url);
    rows(fixture, 1).await;
    (played, id, approvals, stop)
}

/// The rows of the outbox, once there are so many.
async fn rows(fixture: &Fixture, count: usize) -> Vec<String> {
    let sql = "select chat_id || ' ' || kind || ' ' || substr(text, 1, 17) || iif(buttons is null, '', ' ?')
               || ' ' || state from outbox order by seq";
    let mut changes = fixture.store.changes();
    let waiting = async {
        loop {
            let rows: Vec<String> = fixture.column(sql).await;
            if rows.len() >= count {
                return rows;
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the rows come")
}

async fn send_all(fixture: &Fixture) {
    let sql = "update outbox set state = 'sent', message_id = 100 + seq, finished_at_ms = 1
               where state = 'queued' returning seq";
    fixture.store.write(move |tx| Ok(tx.query_all(sql, [], |row| row.get::<i64>(0))?)).await.unwrap();
}

#[tokio::test]
async fn who_may_decide_is_asked_once_and_told_what_was_decided() {
    let fixture = Fixture::new().await;
    let (played, url) = Played::start().await;
    let [first, second] = [EventId::new(), EventId::new()];
    // One waits before anybody listens.
    played.request(&first, "test:7", false);
    let (approvals, stop) = following(&fixture, &url);
    assert_eq!(rows(&fixture, 1).await, ["7 text May I call delete ? queued"]);
    // A chat without an approver: each of them is asked in private.
    played.request(&second, "test:8", true);
    rows(&fixture, 3).await;
    send_all(&fixture).await;

    let decided = approvals.decide(&pressed(first.as_str(), Choice::Task, "Ada")).await;
    assert!(matches!(decided, Outcome::Taken(_)), "{decided:?}");
    let told = rows(&fixture, 4).await;
    assert_eq!(told[3], "7 edit Allowed for this  queued");
    let again = approvals.decide(&pressed(first.as_str(), Choice::Deny, "Bob")).await;
    assert!(matches!(again, Outcome::Before), "{again:?}");
    for unknown in [EventId::new().as_str(), "", "../tools", "%2e%2e/tools", "stream?x"] {
        assert_eq!(
            approvals.decide(&pressed(unknown, Choice::Deny, "Bob")).await,
            Outcome::Unknown,
            "{unknown}"
        );
    }

    // While the stream is broken, the second one is decided by somebody else.
    played.set(second.as_str(), json!({"decision": "deny", "by": "Bob"})).unwrap();
    let _ = played.changes.send("end".to_owned());
    let told = rows(&fixture, 6).await;
    assert_eq!(told[4..], ["7 edit Denied by Bob.\n\nd queued", "9 edit Denied by Bob.\n\nd queued"]);
    stop.cancel();
    let open: Vec<i64> = fixture.column("select count(*) from questions where is_open").await;
    assert_eq!(open, [0]);
}

#[tokio::test]
async fn a_question_that_has_not_left_when_it_is_decided_is_not_sent() {
    let fixture = Fixture::new().await;
    let (_played, id, approvals, stop) = asked(&fixture).await;
    approvals.decide(&pressed(id.as_str(), Choice::Deny, "Ada")).await;
    let told = rows(&fixture, 2).await;
    assert_eq!(told, ["7 text May I call delete ? dead", "7 text Denied by Ada.\n\nd queued"]);
    stop.cancel();
}

#[tokio::test]
async fn without_the_tool_server_nobody_is_told_that_it_was_allowed() {
    let approvals = approvals("http://127.0.0.1:1");
    let outcome = approvals.decide(&pressed(EventId::new().as_str(), Choice::Once, "Ada")).await;
    assert_eq!(outcome, Outcome::Unreachable);
}

#[tokio::test]
async fn a_decision_that_was_stored_before_the_start_is_passed_on_once() {
    let fixture = Fixture::new().await;
    let (played, url) = Played::start().await;
    let id = EventId::new();
    played.request(&id, "test:7", false);
    let stored = pressed(id.as_str(), Choice::Deny, "Ada");
    fixture.store.write(move |tx| keep(tx, &stored)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2)).await;
    let (_approvals, stop) = following(&fixture, &url);
    none_is_kept(&fixture).await;
    stop.cancel();
    let decision = played.approvals.lock().unwrap()[0]["decision"].clone();
    assert_eq!((&decision["decision"], &decision["by"]), (&json!("deny"), &json!("Ada")));
}

/// Waits until no decision is stored any more.
async fn none_is_kept(fixture: &Fixture) {
    let mut changes = fixture.store.changes();
    let waiting = async {
        while fixture.column::<i64>("select count(*) from decisions").await != [0] {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("each decision is passed on");
}

#[tokio::test]
async fn a_decision_that_met_a_server_that_restarts_is_passed_on_when_it_is_there_again() {
    let fixture = Fixture::new().await;
    let (played, id, approvals, stop) = asked(&fixture).await;
    played.restarts.store(true, Ordering::SeqCst);
    let decision = pressed(id.as_str(), Choice::Once, "Ada");
    let stored = decision.clone();
    fixture.store.write(move |tx| keep(tx, &stored)).await.unwrap();
    let outcome = approvals.pass_on(&fixture.store, decision).await;
    assert_eq!(outcome, Outcome::Unreachable);
    none_is_kept(&fixture).await;
    stop.cancel();
    assert_eq!(played.approvals.lock().unwrap()[0]["decision"]["decision"], "grant");
}
