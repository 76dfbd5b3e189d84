//! `/approvals` on the control port, for callers with the control token: the tool server's routes of the same
//! names answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value};

use super::Control;
use super::body::{self, Body as Received};
use super::error::ControlError;
use crate::tool_files::in_words;

/// A tool server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

const HINT: &str = "Send {\"decision\": \"grant\" or \"deny\"}, and perhaps scope, until_ms, reason and by.";

/// The query that shows what a question hides.
const REVEAL: &str = "reveal=true";

/// Who decided, if the caller does not say.
const BY: &str = "the control port";

pub(super) async fn list(
    State(control): State<Arc<Control>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ControlError> {
    let asked = query.map(|query| format!("?{query}")).unwrap_or_default();
    send(control.approvals.request(Method::GET, &asked).timeout(PATIENCE)).await.map(pass_on)
}

pub(super) async fn one(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ControlError> {
    let request = control.approvals.about(Method::GET, &id).ok_or(ControlError::NoSuchApproval)?;
    let reveals = query.as_deref() == Some(REVEAL);
    let request = if reveals { request.query(&[("reveal", "true")]) } else { request };
    send(request.timeout(PATIENCE)).await.map(pass_on)
}

pub(super) async fn decide(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Received,
) -> Result<Response, ControlError> {
    let decision = body::parse(&headers, body, HINT)?;
    decide_as(&control, &id, decision, BY).await.map(pass_on)
}

/// Passes a decision on to the tool server, and returns its answer.
pub(crate) async fn decide_as(
    control: &Control,
    id: &str,
    mut decision: Map<String, Value>,
    by: &str,
) -> Result<reqwest::Response, ControlError> {
    let request = control.approvals.about(Method::POST, id).ok_or(ControlError::NoSuchApproval)?;
    decision.entry("by").or_insert_with(|| by.into());
    send(request.json(&decision).timeout(PATIENCE)).await
}

/// Ends with the run.
pub(super) async fn stream(State(control): State<Arc<Control>>) -> Result<Response, ControlError> {
    let answer = send(control.approvals.request(Method::GET, "/stream")).await?;
    let stop = control.stop.clone().cancelled_owned();
    let (parts, body) = pass_on(answer).into_parts();
    Ok(Response::from_parts(parts, Body::from_stream(body.into_data_stream().take_until(stop))))
}

async fn send(request: RequestBuilder) -> Result<reqwest::Response, ControlError> {
    request.send().await.map_err(|error| {
        tracing::warn!(error = in_words(error), "the tool server gave no answer about approvals");
        ControlError::NoToolServer
    })
}

pub(super) fn pass_on(answer: reqwest::Response) -> Response {
    let status = StatusCode::from_u16(answer.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let kept = |name: HeaderName| Some((name.clone(), answer.headers().get(name)?.clone()));
    let headers: HeaderMap = [header::CONTENT_TYPE, header::CACHE_CONTROL, header::RETRY_AFTER]
        .into_iter()
        .filter_map(kept)
        .collect();
    (status, headers, Body::from_stream(answer.bytes_stream())).into_response()
}
