//! Azure's chat completions: the model is in the address, the version in the query, the key in a header of
//! its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{KEY, NAME, Shared, failure, reply_to};

pub(super) const API_VERSION: &str = "2024-10-21";

#[derive(Deserialize)]
pub(super) struct Version {
    #[serde(rename = "api-version")]
    api_version: Option<String>,
}

pub(super) async fn models(headers: HeaderMap, Query(version): Query<Version>) -> Response {
    match refusal(&headers, &version) {
        Some(refusal) => refusal,
        None => Json(json!({"object": "list", "data": [{"id": "gpt-4o-2024-08-06"}]})).into_response(),
    }
}

pub(super) async fn reply(
    State(shared): State<Arc<Shared>>,
    Path(deployment): Path<String>,
    Query(version): Query<Version>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    if let Some(refusal) = refusal(&headers, &version) {
        return refusal;
    }
    if deployment != NAME {
        let message = "The API deployment for this resource does not exist.";
        return failure(StatusCode::NOT_FOUND, "DeploymentNotFound", message);
    }
    if request.get("max_tokens").is_some() {
        return failure(
            StatusCode::BAD_REQUEST,
            "unsupported_parameter",
            "Use 'max_completion_tokens' instead.",
        );
    }
    reply_to(shared, headers, request, None).await
}

fn refusal(headers: &HeaderMap, version: &Version) -> Option<Response> {
    if headers.get("api-key").is_none_or(|key| key != KEY) {
        let message = "Access denied due to invalid subscription key.";
        return Some(failure(StatusCode::UNAUTHORIZED, "401", message));
    }
    let known = version.api_version.as_deref() == Some(API_VERSION);
    (!known).then(|| failure(StatusCode::NOT_FOUND, "404", "Resource not found"))
}
