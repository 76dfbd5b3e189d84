//! `POST /journal/accept`: accepts a journal that was tampered with as it is.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use protocol::event::JournalAccepted;
use serde::{Deserialize, Serialize};

use super::Control;
use super::body::{self, Body, invalid};
use super::error::ControlError;
use crate::journal::tampering;

const HINT: &str = "Send {\"reason\": \"…\"}: what happened to the journal.";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptRequest {
    /// What happened to the journal.
    pub reason: String,
}

/// Reads the journal to its end first, so that all of it is accepted.
pub(crate) async fn post_accept(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<JournalAccepted>, ControlError> {
    let request: AcceptRequest = body::parse(&headers, body, HINT)?;
    if request.reason.trim().is_empty() {
        return Err(invalid("`reason` is empty", HINT));
    }
    control.follower.drain().await;
    let run = control.run.clone();
    let accept = control.store.write(move |tx| tampering::accept(tx, &request.reason, Some(&run)));
    accept.await?.map(Json).ok_or(ControlError::NothingToAccept)
}
