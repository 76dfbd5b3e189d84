//! `POST /tools/{name}`: a call of a channel's tool, as a worker makes it, for people.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use protocol::{Envelope, SessionId};
use toolkit::Request;

use super::Control;
use super::body::{self, Body, invalid};
use super::error::ControlError;

const HINT: &str = "Send the arguments as a JSON object, and the chat in the header X-Session-Id, such as \
                    telegram:4711.";

pub(crate) async fn post_tool(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Envelope>), ControlError> {
    let arguments: Box<serde_json::value::RawValue> = body::parse(&headers, body, HINT)?;
    let named = headers.get("x-session-id").and_then(|value| value.to_str().ok());
    let session: Option<SessionId> = named.and_then(|session| session.parse().ok());
    let session = session.ok_or_else(|| invalid("the header X-Session-Id names no session", HINT))?;
    let request = Request { session, ..Request::new(name, arguments.get()) };
    let envelope = control.channel_tools.call(request).await;
    let status = StatusCode::from_u16(envelope.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok((status, Json(envelope)))
}
