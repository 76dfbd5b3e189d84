//! `/approvals` on the control port, for callers with the control token, as the tool server's routes of the
//! same names answer, with the supervisor's own approvals among them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use protocol::Envelope;
use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolkit::approvals::{ApprovalState, DecideError, NewDecision};

use super::Control;
use super::body::{self, Body as Received};
use super::error::ControlError;
use crate::approvals::client::Approvals;

/// A tool server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

const HINT: &str = "Send {\"decision\": \"grant\" or \"deny\"}, and perhaps scope, until_ms, reason and by.";

/// The query that shows what a question hides.
const REVEAL: &str = "reveal=true";

/// Who decided, if the caller does not say.
const BY: &str = "the control port";

#[derive(Deserialize, Serialize)]
struct List {
    approvals: Vec<Value>,
}

pub(super) async fn list(
    State(control): State<Arc<Control>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ControlError> {
    let asked = query.map(|query| format!("?{query}")).unwrap_or_default();
    let answer = send(control.approvals.request(Method::GET, &asked).timeout(PATIENCE)).await?;
    if !answer.status().is_success() {
        return Ok(pass_on(answer));
    }
    let mut list: List = answer.json().await.map_err(no_answer)?;
    // The tool server has checked the query: its only parameter is the state.
    let of_state = |is_pending: bool| match asked.strip_prefix("?state=") {
        Some("pending") => is_pending,
        Some("decided") => !is_pending,
        Some(_) | None => true,
    };
    let own = control.approvals.own().list().into_iter();
    let own = own.filter(|one| of_state(one.state == ApprovalState::Pending));
    list.approvals.extend(own.filter_map(|one| serde_json::to_value(&*one).ok()));
    list.approvals.sort_by_key(|one| one["created_at_ms"].as_i64());
    Ok(Json(list).into_response())
}

pub(super) async fn one(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ControlError> {
    let reveals = query.as_deref() == Some(REVEAL);
    if let Some(own) = id.parse().ok().and_then(|id| control.approvals.own().get(&id)) {
        return Ok(match if reveals { own.revealed() } else { Ok(own.as_ref().clone()) } {
            Ok(own) => Json(own).into_response(),
            Err(error) => refused(toolkit::runner::refusal("", error)),
        });
    }
    let request = control.approvals.about(Method::GET, &id).ok_or(ControlError::NoSuchApproval)?;
    let request = if reveals { request.query(&[("reveal", "true")]) } else { request };
    send(request.timeout(PATIENCE)).await.map(pass_on)
}

pub(super) async fn decide(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Received,
) -> Result<Response, ControlError> {
    let request = control.approvals.about(Method::POST, &id).ok_or(ControlError::NoSuchApproval)?;
    let mut decision: Map<String, Value> = body::parse(&headers, body, HINT)?;
    decision.entry("by").or_insert_with(|| BY.into());
    if id.parse().is_ok_and(|id| control.approvals.own().get(&id).is_some()) {
        return Ok(decide_own(&control.approvals, &id, decision).await);
    }
    send(request.json(&decision).timeout(PATIENCE)).await.map(pass_on)
}

async fn decide_own(approvals: &Approvals, id: &str, decision: Map<String, Value>) -> Response {
    let new = match NewDecision::parse(decision) {
        Ok(new) => new,
        Err(error) => return refused(toolkit::runner::refusal("", error)),
    };
    match approvals.decide_own(id, new).await {
        Some(Ok(own)) => Json(&*own).into_response(),
        Some(Err(error)) => refused(error.answer(id)),
        None => refused(DecideError::Unknown.answer(id)),
    }
}

fn refused(envelope: Envelope) -> Response {
    let status = StatusCode::from_u16(envelope.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(envelope)).into_response()
}

pub(super) async fn stream(State(control): State<Arc<Control>>) -> Result<Response, ControlError> {
    let events = control.approvals.events().await.map_err(|error| {
        tracing::warn!(error = crate::error_chain::error_chain(&error), "approvals cannot be followed");
        ControlError::NoToolServer
    })?;
    let events = stream::unfold(events, |mut events| async move {
        let event = events.next().await.ok()?;
        Some((Ok::<_, Infallible>(event), events))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(events)).into_response())
}

async fn send(request: RequestBuilder) -> Result<reqwest::Response, ControlError> {
    request.send().await.map_err(no_answer)
}

fn no_answer(error: reqwest::Error) -> ControlError {
    let error = crate::error_chain::error_chain(&error.without_url());
    tracing::warn!(error, "the tool server gave no answer about approvals");
    ControlError::NoToolServer
}

fn pass_on(answer: reqwest::Response) -> Response {
    let status = StatusCode::from_u16(answer.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let kept = |name: HeaderName| Some((name.clone(), answer.headers().get(name)?.clone()));
    let headers: HeaderMap =
        [header::CONTENT_TYPE, header::CACHE_CONTROL].into_iter().filter_map(kept).collect();
    (status, headers, Body::from_stream(answer.bytes_stream())).into_response()
}
