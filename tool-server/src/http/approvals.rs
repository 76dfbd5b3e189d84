//! `/approvals`: the calls that wait for a person, and the decisions. Only the approver's token opens it.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use protocol::{ErrorCode, EventId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use toolkit::approvals::{Approval, ApprovalState, Change, NewDecision, unknown};
use toolkit::arguments::{invalid, parse_object};

use super::call::read_body;
use super::response::{self, ALIVE, KEEP_ALIVE, Refusal, query_of};
use super::state::AppState;

/// What `GET /approvals` answers.
#[derive(JsonSchema, Serialize)]
pub(super) struct ApprovalList {
    /// The approvals, the oldest first.
    approvals: Vec<Arc<Approval>>,
}

/// What may follow `GET /approvals?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    state: Option<Wanted>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Pending,
    Decided,
}

pub(super) async fn list(
    State(app): State<Arc<AppState>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<ApprovalList>, Refusal> {
    let wanted = query_of(query, "The only parameter is `state`: `pending` or `decided`.")?.state;
    let mut approvals = app.approvals.as_ref().map(|approvals| approvals.list()).unwrap_or_default();
    approvals.retain(|one| {
        let state = if one.state == ApprovalState::Pending { Wanted::Pending } else { Wanted::Decided };
        wanted.is_none_or(|wanted| wanted == state)
    });
    Ok(Json(ApprovalList { approvals }))
}

/// What may follow `GET /approvals/{id}?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneQuery {
    /// Whether to show what a question hides.
    #[serde(default)]
    reveal: bool,
}

pub(super) async fn one(
    State(app): State<Arc<AppState>>,
    Path(id): Path<String>,
    query: Result<Query<OneQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Ok(Query(OneQuery { reveal })) = query else {
        let error = invalid("The query is not understood.").with_hint("The only parameter is `reveal=true`.");
        return Err(error.into());
    };
    let found = id.parse::<EventId>().ok().and_then(|id| app.approvals.as_ref()?.get(&id));
    let approval = found.ok_or_else(|| unknown(&id))?;
    if reveal {
        return Ok(([(header::CACHE_CONTROL, "no-store")], Json(approval.revealed()?)).into_response());
    }
    Ok(Json(&*approval).into_response())
}

pub(super) async fn decide(
    State(app): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, content) = request.into_parts();
    let new = NewDecision::parse(parse_object(&read_body(&parts.headers, content).await?)?)?;
    let known = id.parse::<EventId>().ok().zip(app.approvals.clone());
    let (event_id, approvals) = known.ok_or_else(|| unknown(&id))?;
    match tokio::task::spawn_blocking(move || approvals.decide(&event_id, new)).await {
        Ok(Ok(approval)) => Ok(Json(&*approval).into_response()),
        Ok(Err(error)) => Ok(response::envelope_response(error.answer(&id))),
        Err(error) => {
            tracing::error!(%error, "a decision failed");
            Err(ToolError::new(ErrorCode::Internal, "The decision failed.").into())
        }
    }
}

/// `requested`, `decided`, `expired` and `used` as they happen, each with the approval as its data.
pub(super) async fn stream(State(app): State<Arc<AppState>>) -> Result<Response, Refusal> {
    let approvals = app.approvals.as_ref().ok_or_else(|| unknown("stream"))?;
    let changes = (approvals.subscribe(), approvals.watch_closing());
    // The listener knows from the first line on that it misses nothing.
    let events = stream::unfold(changes, |(mut changes, mut closing)| async move {
        Some((next_part(&mut changes, &mut closing).await?, (changes, closing)))
    });
    Ok(response::event_stream(response::hello(b": listening\n\n").chain(events)))
}

/// None at the end: the server ends, or the listener was too slow and has to look at the list again.
async fn next_part(
    changes: &mut broadcast::Receiver<Change>,
    closing: &mut watch::Receiver<bool>,
) -> Option<Bytes> {
    tokio::select! {
        change = changes.recv() => change.ok().map(|change| Bytes::from(change.event())),
        _ = closing.wait_for(|closing| *closing) => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(ALIVE),
    }
}
