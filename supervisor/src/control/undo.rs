//! `POST /undo`: reverts the file change of a call, or all file changes of a task.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use channel::Chat;
use serde::{Deserialize, Serialize};
use store::StoreError;
use store::changes::{self, ChangedFile, LastChanged};
use store::sql::Connection;

use super::Control;
use super::body::{self, Body};
use super::error::ControlError;
use crate::undo::Undone;

const HINT: &str =
    "Send {\"id\": \"…\"} with the ID of a call or of a task, or {\"session\": \"local:local\"}.";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum UndoRequest {
    /// A call that changed a file, or a task; of a call the end of its ID is enough.
    Id(String),
    /// The last task that changed something in the chat of this session, `<channel>:<chat>`.
    Session(String),
}

pub(crate) async fn post_undo(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Undone>, ControlError> {
    Ok(Json(undo(&control, body::parse(&headers, body, HINT)?).await?))
}

/// Undoes what a request names.
pub(crate) async fn undo(control: &Control, request: UndoRequest) -> Result<Undone, ControlError> {
    // What the tool server has done so far is in the events.
    control.undoer.journal.drain().await;
    let changes = control.store.write(move |tx| named(tx, &request)).await?;
    if changes.is_empty() {
        return Err(ControlError::NothingToUndo);
    }
    Ok(control.undoer.undo(&changes).await?)
}

fn named(connection: &Connection, request: &UndoRequest) -> Result<Vec<ChangedFile>, StoreError> {
    match request {
        UndoRequest::Id(id) => match changes::of_call(connection, id)? {
            Some(change) => Ok(vec![change]),
            None => changes::of_task(connection, id),
        },
        UndoRequest::Session(session) => {
            match Chat::at(session).map(|chat| changes::last_in_chat(connection, &chat)).transpose()? {
                Some(LastChanged::Task(task)) => changes::of_task(connection, task.as_str()),
                Some(LastChanged::Running | LastChanged::None) | None => Ok(Vec::new()),
            }
        }
    }
}
