//! `/approvals` on the control port: the tool server's routes of the same names, with the approver's token,
//! for whoever has the control token.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value};

use super::Control;
use super::body::{self, Body as Received};
use super::error::ControlError;

/// A tool server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

const HINT: &str = "Send {\"decision\": \"grant\" or \"deny\"}, and perhaps scope, until_ms, reason and by.";

/// Who decided, if the caller does not say.
const BY: &str = "the control port";

pub(super) async fn list(
    State(control): State<Arc<Control>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ControlError> {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    pass_on(control.approvals.request(Method::GET, &query).timeout(PATIENCE)).await
}

pub(super) async fn one(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
) -> Result<Response, ControlError> {
    let request = control.approvals.about(Method::GET, &id).ok_or(ControlError::NoSuchApproval)?;
    pass_on(request.timeout(PATIENCE)).await
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
    pass_on(request.json(&decision).timeout(PATIENCE)).await
}

pub(super) async fn stream(State(control): State<Arc<Control>>) -> Result<Response, ControlError> {
    pass_on(control.approvals.request(Method::GET, "/stream")).await
}

async fn pass_on(request: RequestBuilder) -> Result<Response, ControlError> {
    let answer = request.send().await.map_err(|error| {
        let error = crate::error_chain::error_chain(&error.without_url());
        tracing::warn!(error, "the tool server gave no answer about approvals");
        ControlError::NoToolServer
    })?;
    let status = StatusCode::from_u16(answer.status().as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let kept = |name: HeaderName| Some((name.clone(), answer.headers().get(name)?.clone()));
    let headers: HeaderMap =
        [header::CONTENT_TYPE, header::CACHE_CONTROL].into_iter().filter_map(kept).collect();
    Ok((status, headers, Body::from_stream(answer.bytes_stream())).into_response())
}
