//! `/approvals`: the calls that wait for a person, and the decisions. Only the approver's token opens it.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use protocol::{ErrorCode, EventId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use toolkit::approvals::{Approval, ApprovalState, Change, NewDecision, unknown};
use toolkit::arguments::{elide, invalid, parse_object};

use super::call::read_body;
use super::response;
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
) -> Response {
    let wanted = match query {
        Ok(Query(query)) => query.state,
        Err(rejection) => {
            let what = elide(&rejection.body_text(), 200);
            let error = invalid(format!("The query is not understood: {what}."))
                .with_hint("The only parameter is `state`: `pending` or `decided`.");
            return response::error_response("", error);
        }
    };
    let mut approvals = app.approvals.as_ref().map(|approvals| approvals.list()).unwrap_or_default();
    approvals.retain(|one| {
        let state = if one.state == ApprovalState::Pending { Wanted::Pending } else { Wanted::Decided };
        wanted.is_none_or(|wanted| wanted == state)
    });
    Json(ApprovalList { approvals }).into_response()
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
) -> Response {
    let Ok(Query(OneQuery { reveal })) = query else {
        let error = invalid("The query is not understood.").with_hint("The only parameter is `reveal=true`.");
        return response::error_response("", error);
    };
    let found = id.parse::<EventId>().ok().and_then(|id| app.approvals.as_ref()?.get(&id));
    match found {
        Some(approval) if reveal => match approval.revealed() {
            Ok(whole) => ([(header::CACHE_CONTROL, "no-store")], Json(whole)).into_response(),
            Err(error) => response::error_response("", error),
        },
        Some(approval) => Json(&*approval).into_response(),
        None => response::error_response("", unknown(&id)),
    }
}

pub(super) async fn decide(
    State(app): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    let new = match read_body(&parts.headers, content)
        .await
        .and_then(|body| NewDecision::parse(parse_object(&body)?))
    {
        Ok(new) => new,
        Err(error) => return response::error_response("", error),
    };
    let known = id.parse::<EventId>().ok().zip(app.approvals.clone());
    let Some((event_id, approvals)) = known else { return response::error_response("", unknown(&id)) };
    let decided = tokio::task::spawn_blocking(move || approvals.decide(&event_id, new)).await;
    match decided {
        Ok(Ok(approval)) => Json(&*approval).into_response(),
        Ok(Err(error)) => response::envelope_response(error.answer(&id)),
        Err(error) => {
            tracing::error!(%error, "a decision failed");
            response::error_response("", ToolError::new(ErrorCode::Internal, "The decision failed."))
        }
    }
}

/// `requested`, `decided`, `expired` and `used` as they happen, each with the approval as its data.
pub(super) async fn stream(State(app): State<Arc<AppState>>) -> Response {
    let Some(approvals) = app.approvals.clone() else {
        return response::error_response("", unknown("stream"));
    };
    let changes = approvals.subscribe();
    // The listener knows from the first line on that it misses nothing.
    let hello = Some(Bytes::from_static(b": listening\n\n"));
    let state = (hello, changes, approvals.watch_closing());
    let events = stream::unfold(state, |(hello, mut changes, mut closing)| async move {
        let part = match hello {
            Some(hello) => hello,
            None => next_part(&mut changes, &mut closing).await?,
        };
        Some((part, (None, changes, closing)))
    });
    response::event_stream(events)
}

/// How often a quiet stream says that it lives.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(15);

/// None at the end: the server ends, or the listener was too slow and has to look at the list again.
async fn next_part(
    changes: &mut broadcast::Receiver<Change>,
    closing: &mut watch::Receiver<bool>,
) -> Option<Bytes> {
    tokio::select! {
        change = changes.recv() => change.ok().map(|change| Bytes::from(change.event())),
        _ = closing.wait_for(|closing| *closing) => None,
        () = tokio::time::sleep(KEEP_ALIVE) => Some(Bytes::from_static(b":\n\n")),
    }
}
