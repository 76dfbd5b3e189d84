//! `POST /messages` stores a message, `GET /messages/{task_id}` gets its reply.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use channel::Chat;
use channel::update::{Incoming, Kind, Update};
use protocol::{Origin, TaskId, now_ms};
use serde::{Deserialize, Serialize};
use store::inbox::{self, MessageStatus};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::{NAME, is_chat_name};
use crate::control::Control;
use crate::control::body::{self, Body, invalid};
use crate::control::error::ControlError;
use crate::reception::Reception;
use crate::words::Said;

/// The longest that a request may wait for a reply.
const MAX_WAIT_SECONDS: u64 = 600;

/// How long a request waits for words.
const WORDS_WAIT: Duration = Duration::from_secs(30);

/// A longer one is none that this version knows, so it is not kept.
const MAX_TRACEPARENT_BYTES: usize = 128;

const WORDS_HINT: &str = "The only parameter is ?after=, the number of the last text.";
const HINT: &str = "Send {\"text\": \"…\"}, optionally with \"chat\" and \"unattended\".";
const WAIT_HINT: &str = "The only parameter is ?wait_seconds=, 0 to 600.";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    pub text: String,
    #[serde(default = "local")]
    pub chat: String,
    /// Whether its sender cannot be asked about calls that need a person.
    #[serde(default)]
    pub unattended: bool,
}

/// The query of `GET /messages/{task_id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    #[serde(default)]
    wait_seconds: u64,
}

/// Stores a message durably before it responds.
pub(crate) async fn post_message(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<MessageStatus>), ControlError> {
    let message = validate(body::parse(&headers, body, HINT)?)?;
    let chat = Chat::new(NAME, &message.chat);
    let mut incoming = Incoming::text(&message.text, now_ms() / 1000);
    let traceparent = headers.get("traceparent").and_then(|parent| parent.to_str().ok());
    let traceparent = traceparent.filter(|parent| parent.len() <= MAX_TRACEPARENT_BYTES).map(str::to_owned);
    let is_unattended = message.unattended;
    incoming.origin = (is_unattended || traceparent.is_some()).then(|| Origin {
        is_unattended,
        traceparent,
        ..Origin::default()
    });
    let kind = Kind::Message(Box::new(incoming));
    let update = Update { id: None, chat, message_id: None, kind };
    let channel = control.channels.get(&NAME).ok_or(ControlError::NoSuchRoute)?;
    let mut reception = Reception::new(Arc::clone(channel), control.inbound.clone());
    let task = reception.receive(vec![update], None, false).await?.pop();
    let task = task.ok_or(ControlError::NoSuchTask)?;
    let status = control.store.write(move |tx| inbox::status(tx, &task)).await?;
    Ok((StatusCode::ACCEPTED, Json(status.ok_or(ControlError::NoSuchTask)?)))
}

/// How a message's task is; with `wait_seconds`, once it has ended or the time is over.
pub(crate) async fn get_message(
    State(control): State<Arc<Control>>,
    Path(task_id): Path<String>,
    wait: Result<Query<Wait>, QueryRejection>,
) -> Result<Json<MessageStatus>, ControlError> {
    let task_id: TaskId = task_id.parse().map_err(|_| ControlError::NoSuchTask)?;
    let Query(Wait { wait_seconds }) = wait.map_err(|error| invalid(error.body_text(), WAIT_HINT))?;
    if wait_seconds > MAX_WAIT_SECONDS {
        return Err(invalid(format!("wait_seconds is at most {MAX_WAIT_SECONDS}"), WAIT_HINT));
    }
    let deadline = Instant::now() + Duration::from_secs(wait_seconds);
    let mut changes = control.store.changes();
    loop {
        changes.mark_unchanged();
        let id = task_id.clone();
        let status = control.store.write(move |tx| inbox::status(tx, &id)).await?;
        let status = status.ok_or(ControlError::NoSuchTask)?;
        if !status.is_open() || !changes_in_time(&mut changes, deadline, &control).await {
            return Ok(Json(status));
        }
    }
}

/// How far a reply is: its text, and the number of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Growing {
    pub number: u64,
    pub text: String,
}

/// The query of `GET /messages/{task_id}/words`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    #[serde(default)]
    after: u64,
}

/// What the model of a running task has written, once it is another text than that of the number `after`.
/// When the task runs no more, or has another attempt, the text is empty. After a while, nothing is new.
pub(crate) async fn get_words(
    State(control): State<Arc<Control>>,
    Path(task_id): Path<String>,
    after: Result<Query<After>, QueryRejection>,
) -> Result<Json<Growing>, ControlError> {
    let task_id: TaskId = task_id.parse().map_err(|_| ControlError::NoSuchTask)?;
    let Query(After { after }) = after.map_err(|error| invalid(error.body_text(), WORDS_HINT))?;
    let deadline = Instant::now() + WORDS_WAIT;
    let mut changes = control.words.changes();
    loop {
        changes.mark_unchanged();
        let Said { number, text } = control.words.of(&task_id).unwrap_or_default();
        let growing = Growing { number, text: text.as_ref().to_owned() };
        if number != after || !changes_in_time(&mut changes, deadline, &control).await {
            return Ok(Json(growing));
        }
    }
}

/// Waits for a change; false if none comes before the deadline or the end of the run.
async fn changes_in_time<T>(changes: &mut Receiver<T>, deadline: Instant, control: &Control) -> bool {
    tokio::select! {
        changed = changes.changed() => changed.is_ok(),
        () = sleep_until(deadline) => false,
        () = control.stop.cancelled() => false,
    }
}

fn validate(message: NewMessage) -> Result<NewMessage, ControlError> {
    if message.text.trim().is_empty() {
        return Err(invalid("`text` is empty", HINT));
    }
    if !is_chat_name(&message.chat) {
        let rule = "`chat` begins with a letter and has at most 64 letters, digits, `.`, `_` and `-`";
        return Err(invalid(rule, HINT));
    }
    Ok(message)
}

fn local() -> String {
    "local".to_owned()
}
