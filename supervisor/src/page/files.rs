//! `/files`: what tasks changed, and what the directories of a chat hold, through the tool server.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::HeaderValue;
use axum::response::{Html, Response};
use page::files::{Content, Entry, MOST_SHOWN, Shown, files};
use page::{Frame, Place};
use protocol::{Envelope, SessionId};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use store::queries::page as queries;

use super::actions::Told;
use super::error::PageError;
use super::read::read;
use super::show::{self, to_save};
use crate::control::Control;
use crate::control::error::ControlError;
use crate::tool_files::{GetError, opened};

const PATIENCE: Duration = Duration::from_secs(10);
const MOST_CHATS: u32 = 200;
const MOST_CHANGES: u32 = 100;
const MOST_ENTRIES: u32 = 1000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FilePlace {
    session: String,
    path: String,
}

pub(super) async fn get_files(
    State(control): State<Arc<Control>>,
    Query(place): Query<FilePlace>,
    Query(told): Query<Told>,
) -> Result<Html<String>, PageError> {
    let read = read(&control, |connection| {
        Ok((queries::chats(connection, MOST_CHATS)?, queries::newest_changes(connection, MOST_CHANGES)?))
    });
    let (chats, changes) = read.await?;
    let path = if place.path.is_empty() { "." } else { place.path.as_str() };
    let content = match place.session.is_empty() {
        true => None,
        false => Some(content(&control, &session(&place.session)?, path).await),
    };
    let shown = content.map(|content| Shown { session: &place.session, path, content });
    let frame = Frame { title: "Files", place: Place::Files, live: None, notice: told.notice() };
    Ok(show::shown(&frame, &files(&chats, &changes, shown.as_ref())))
}

/// A file of a session, to be saved and never shown.
pub(super) async fn get_raw(
    State(control): State<Arc<Control>>,
    Query(place): Query<FilePlace>,
) -> Result<Response, PageError> {
    let session = session(&place.session)?;
    let answer = match opened(control.tool_server.request(Method::GET, &place.path, &session)).await {
        Ok(answer) => answer,
        Err(GetError::Refused(error)) => {
            return Err(PageError::invalid(error.message, "Choose another file."));
        }
        Err(GetError::NoAnswer(_)) => return Err(ControlError::NoToolServer.into()),
    };
    let name = place.path.rsplit('/').next().unwrap_or("file");
    let length = answer.content_length().map(HeaderValue::from);
    Ok(to_save(name, length, Body::from_stream(answer.bytes_stream())))
}

fn session(named: &str) -> Result<SessionId, PageError> {
    named.parse().map_err(|_| PageError::missing("session"))
}

/// What lies at a path: the entries of a directory, or the text of a file.
async fn content(control: &Control, session: &SessionId, path: &str) -> Content {
    let arguments = json!({"path": path, "limit": MOST_ENTRIES, "include_hidden": true});
    let call = control.tool_server.call("ls", &arguments, session).timeout(PATIENCE);
    let Some(envelope) = answer(call).await else {
        return Content::Refused("The tool server gives no answer.".to_owned());
    };
    match &envelope.meta.error {
        None => directory(&envelope),
        Some(error) if error.code == protocol::ErrorCode::NotADirectory => file(control, session, path).await,
        Some(error) => Content::Refused(error.message.clone()),
    }
}

async fn answer(call: reqwest::RequestBuilder) -> Option<Envelope> {
    call.send().await.ok()?.json().await.ok()
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    #[serde(rename = "type")]
    entry_type: String,
    size_bytes: u64,
    mtime_ms: i64,
}

fn directory(envelope: &Envelope) -> Content {
    let listed = envelope.meta.data["entries"].clone();
    let listed: Vec<Listed> = serde_json::from_value(listed).unwrap_or_default();
    let entries = listed.into_iter().map(|entry| Entry {
        is_directory: entry.entry_type == "dir",
        is_file: entry.entry_type == "file",
        name: entry.name,
        size_bytes: entry.size_bytes,
        mtime_ms: entry.mtime_ms,
    });
    Content::Directory { entries: entries.collect(), has_more: envelope.next_page_cursor.is_some() }
}

async fn file(control: &Control, session: &SessionId, path: &str) -> Content {
    let request = control.tool_server.request(Method::GET, path, session).timeout(PATIENCE);
    let answer = match opened(request).await {
        Ok(answer) => answer,
        Err(GetError::Refused(error)) => return Content::Refused(error.message),
        Err(GetError::NoAnswer(_)) => return Content::Refused("The tool server gives no answer.".to_owned()),
    };
    let size_bytes = answer.content_length();
    if size_bytes.is_none_or(|size| size > u64::try_from(MOST_SHOWN).unwrap_or(0)) {
        return Content::Other { size_bytes };
    }
    match answer.bytes().await.map(|bytes| String::from_utf8(bytes.to_vec())) {
        Ok(Ok(text)) if !text.contains('\0') => Content::Text(text),
        Ok(_) => Content::Other { size_bytes },
        Err(_) => Content::Refused("The tool server broke off.".to_owned()),
    }
}
