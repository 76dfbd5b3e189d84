//! `/files?path=`: whole files in and out, as they are.
//!
//! `GET` and `HEAD` send a file with its SHA-256 as `ETag`; `PUT` stores the body as a file. Each is a call
//! like a tool's, journalled under the name of its transfer.
//! What fails is answered with the envelope, never with a status that could be taken for a file.

mod conditions;
mod head;
mod range;
mod stream;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::{Envelope, ErrorCode, ToolError};
use serde::Deserialize;
use serde_json::json;
use toolkit::arguments::invalid;
use toolkit::{Attachment, Tool};

use self::conditions::{Conditions, Decision};
use self::range::Part;
pub(super) use self::stream::blocks;
use super::call::request_of;
use super::state::AppState;
use super::{Granted, response};
use crate::transfers::{Download, FileDownload, FileUpload, OpenFile, Upload};

/// The name of both transfers in an envelope.
const FILES: &str = "files";

/// What follows `/files?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileQuery {
    path: String,
}

type QueryOrNot = Result<Query<FileQuery>, QueryRejection>;

/// `GET` and `HEAD`.
pub(super) async fn download(
    State(app): State<Arc<AppState>>,
    query: QueryOrNot,
    method: Method,
    Extension(granted): Extension<Granted>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let (path, conditions) = (path_of(query)?, Conditions::of_download(&headers)?);
    let is_head = method == Method::HEAD;
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let arguments = json!({"path": path, "head": is_head, "range": range});
    let download = Arc::new(Download::default());
    let attachment = Arc::clone(&download) as _;
    let envelope = run(&app, FileDownload::NAME, (&headers, &granted), &arguments, attachment).await?;
    match download.take() {
        Some(file) if envelope.ok => send(file, &conditions, range.filter(|_| !is_head), is_head),
        _ => Ok(answer(envelope)),
    }
}

/// `PUT`.
pub(super) async fn upload(
    State(app): State<Arc<AppState>>,
    query: QueryOrNot,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let (path, conditions) = (path_of(query)?, Conditions::of_upload(&headers)?);
    let arguments = json!({
        "path": path,
        "if_match": conditions.if_match,
        "if_none_match": conditions.is_new,
        "declared_bytes": axum::body::HttpBody::size_hint(&body).exact(),
    });
    let (upload, parts) = Upload::new();
    let stored = run(&app, FileUpload::NAME, (&headers, &granted), &arguments, Arc::new(upload));
    let (stored, ()) = tokio::join!(stored, stream::receive(body, parts));
    Ok(answer(stored?))
}

fn path_of(query: QueryOrNot) -> Result<String, ToolError> {
    let hint = "The only parameter is `path`, percent-encoded: /files?path=notes%2Fhello.txt.";
    response::query_of(query, hint).map(|FileQuery { path }| path)
}

async fn run(
    app: &AppState,
    name: &str,
    caller: (&HeaderMap, &Granted),
    arguments: &serde_json::Value,
    attachment: Attachment,
) -> Result<Envelope, ToolError> {
    let request = request_of(&app.access, name, caller, arguments.to_string().into_bytes())?;
    if request.idempotency_key.is_some() {
        return Err(invalid("`/files` takes no Idempotency-Key.").with_hint(
            "Leave it out: with If-Match or If-None-Match a repeated PUT changes nothing twice.",
        ));
    }
    Ok(app.runner.run(toolkit::Request { attachment: Some(attachment), ..request }).await)
}

/// A request that is no call: its error, with a status that says so.
pub(super) struct Refused(ToolError);

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        response::error_response(FILES, with_status(self.0))
    }
}

/// The answer to an upload, and to a download that failed.
fn answer(mut envelope: Envelope) -> Response {
    FILES.clone_into(&mut envelope.meta.tool);
    envelope.meta.error = envelope.meta.error.map(with_status);
    let is_new = envelope.ok && envelope.meta.data["operation"] == "create";
    let tag = envelope.meta.data["sha256_after"].as_str().and_then(|hash| tag_of(hash).ok());
    let mut answer = response::envelope_response(envelope);
    if is_new {
        *answer.status_mut() = StatusCode::CREATED;
    }
    if let Some(tag) = tag {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

/// A tool's failure is its result and has status 200; here 200 would be a file.
fn with_status(error: ToolError) -> ToolError {
    if error.http_status.unwrap_or(error.code.http_status()) != 200 {
        return error;
    }
    let status = match error.code {
        ErrorCode::NotFound | ErrorCode::NotADirectory => 404,
        ErrorCode::PermissionDenied => 403,
        ErrorCode::FileTooLarge => 413,
        ErrorCode::Cancelled => 400,
        ErrorCode::IsDirectory | ErrorCode::NotARegularFile => 409,
        _ => 500,
    };
    ToolError { http_status: Some(status), ..error }
}

fn tag_of(sha256: &str) -> Result<HeaderValue, header::InvalidHeaderValue> {
    HeaderValue::try_from(format!("\"{sha256}\""))
}

fn send(
    file: OpenFile,
    conditions: &Conditions,
    range: Option<&str>,
    is_head: bool,
) -> Result<Response, Refused> {
    let mut headers = head::of(&file);
    let whole = Part { first: 0, length: file.size_bytes };
    let (status, part) = match conditions.decide(&file.sha256) {
        Decision::Changed => return Err(conditions::changed(&file.sha256).into()),
        Decision::NotModified => return Ok((StatusCode::NOT_MODIFIED, headers).into_response()),
        Decision::Send { ranges: false } => (StatusCode::OK, whole),
        Decision::Send { ranges: true } => match range::part(range, file.size_bytes) {
            Ok(None) => (StatusCode::OK, whole),
            Ok(Some(part)) => {
                headers.insert(header::CONTENT_RANGE, part.content_range(file.size_bytes));
                (StatusCode::PARTIAL_CONTENT, part)
            }
            Err(error) => return Ok(unsatisfiable(error, file.size_bytes)),
        },
    };
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.length));
    let body = if is_head { Body::empty() } else { Body::from_stream(stream::send(file, part)) };
    Ok((status, headers, body).into_response())
}

fn unsatisfiable(error: ToolError, size_bytes: u64) -> Response {
    let mut answer = Refused(error).into_response();
    if let Ok(range) = HeaderValue::try_from(format!("bytes */{size_bytes}")) {
        answer.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    answer
}
