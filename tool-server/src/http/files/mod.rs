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
use toolkit::arguments::{elide, invalid};
use toolkit::{Attachment, Tool};

use self::conditions::{Conditions, Decision};
use self::range::Part;
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
) -> Response {
    let is_head = method == Method::HEAD;
    let asked = path_of(query).and_then(|path| Ok((path, Conditions::of_download(&headers)?)));
    let (path, conditions) = match asked {
        Ok(asked) => asked,
        Err(error) => return refused(error),
    };
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let arguments = json!({"path": path, "head": is_head, "range": range});
    let download = Arc::new(Download::default());
    let envelope = match run(
        &app,
        FileDownload::NAME,
        (&headers, &granted),
        json_bytes(&arguments),
        Arc::clone(&download) as _,
    )
    .await
    {
        Ok(envelope) => envelope,
        Err(error) => return refused(error),
    };
    match download.take() {
        Some(file) if envelope.ok => send(file, &conditions, range.filter(|_| !is_head), is_head),
        _ => answer(envelope),
    }
}

/// `PUT`.
pub(super) async fn upload(
    State(app): State<Arc<AppState>>,
    query: QueryOrNot,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let asked = path_of(query).and_then(|path| Ok((path, Conditions::of_upload(&headers)?)));
    let (path, conditions) = match asked {
        Ok(asked) => asked,
        Err(error) => return refused(error),
    };
    let arguments = json!({
        "path": path,
        "if_match": conditions.if_match,
        "if_none_match": conditions.is_new,
        "declared_bytes": axum::body::HttpBody::size_hint(&body).exact(),
    });
    let (upload, parts) = Upload::new();
    let stored = run(&app, FileUpload::NAME, (&headers, &granted), json_bytes(&arguments), Arc::new(upload));
    let (stored, ()) = tokio::join!(stored, stream::receive(body, parts));
    stored.map_or_else(refused, answer)
}

fn path_of(query: QueryOrNot) -> Result<String, ToolError> {
    query.map(|Query(query)| query.path).map_err(|rejection| {
        let why = elide(&rejection.body_text(), 200);
        invalid(format!("The query is not understood: {why}."))
            .with_hint("The only parameter is `path`, percent-encoded: /files?path=notes%2Fhello.txt.")
    })
}

fn json_bytes(arguments: &serde_json::Value) -> Vec<u8> {
    arguments.to_string().into_bytes()
}

async fn run(
    app: &AppState,
    name: &str,
    caller: (&HeaderMap, &Granted),
    arguments: Vec<u8>,
    attachment: Attachment,
) -> Result<Envelope, ToolError> {
    let request = request_of(&app.access, name, caller, arguments)?;
    if request.idempotency_key.is_some() {
        return Err(invalid("`/files` takes no Idempotency-Key.").with_hint(
            "Leave it out: with If-Match or If-None-Match a repeated PUT changes nothing twice.",
        ));
    }
    Ok(app.runner.run(toolkit::Request { attachment: Some(attachment), ..request }).await)
}

/// A request that is no call: its error, with a status that says so.
fn refused(error: ToolError) -> Response {
    response::error_response(FILES, with_status(error))
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

fn send(file: OpenFile, conditions: &Conditions, range: Option<&str>, is_head: bool) -> Response {
    let mut headers = head::of(&file);
    let whole = Part { first: 0, length: file.size_bytes };
    let (status, part) = match conditions.decide(&file.sha256) {
        Decision::Changed => return refused(conditions::changed(&file.sha256)),
        Decision::NotModified => return (StatusCode::NOT_MODIFIED, headers).into_response(),
        Decision::Send { ranges: false } => (StatusCode::OK, whole),
        Decision::Send { ranges: true } => match range::part(range, file.size_bytes) {
            Ok(None) => (StatusCode::OK, whole),
            Ok(Some(part)) => {
                headers.insert(header::CONTENT_RANGE, part.content_range(file.size_bytes));
                (StatusCode::PARTIAL_CONTENT, part)
            }
            Err(error) => return unsatisfiable(error, file.size_bytes),
        },
    };
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.length));
    let body = if is_head { Body::empty() } else { Body::from_stream(stream::send(file, part)) };
    (status, headers, body).into_response()
}

fn unsatisfiable(error: ToolError, size_bytes: u64) -> Response {
    let mut answer = refused(error);
    if let Ok(range) = HeaderValue::try_from(format!("bytes */{size_bytes}")) {
        answer.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    answer
}
