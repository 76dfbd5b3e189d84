//! `POST /outbox`, `GET /outbox/{id}` and `POST /outbox/resend`: a message, edit, file or reaction for a
//! chat, by the same outbox as replies.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use channel::Chat;
use channel::content::{Content, File, FileBody};
use channel::formatting::FormattedText;
use serde::{Deserialize, Serialize};
use store::outbox::{self, OutboxRow};
use store::resend::{self, Resent, Which};

use super::body::{self, Body, invalid};
use super::error::{ControlError, OUTBOX_HINT as HINT};
use super::{BY, Control};

/// The maximum size of a file: it is stored in the database until it is sent.
pub(crate) const MAX_FILE_BYTES: usize = 20 * 1024 * 1024;
/// The maximum size of a body: base64 adds a third, and there are other fields.
pub(crate) const MAX_BODY_BYTES: usize = MAX_FILE_BYTES / 3 * 4 + 64 * 1024;
/// No emoji is longer than this, in bytes.
const MAX_EMOJI_BYTES: usize = 64;

const RESEND_HINT: &str = "Send {\"outbox_id\": 7}, {\"task_id\": \"…\"} or {\"all_dead\": true}.";

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum OutboxRequest {
    /// A message; a long one leaves in several.
    Text { chat: String, text: String },
    /// Another text for one of the bot's messages.
    Edit {
        chat: String,
        /// The message's number in the chat.
        message_id: i32,
        /// What it says from now on.
        text: String,
    },
    Document {
        chat: String,
        file_name: String,
        content_base64: String,
        /// What stands below it.
        #[serde(default)]
        caption: String,
    },
    /// A voice message: OGG with Opus.
    Voice {
        chat: String,
        content_base64: String,
        /// What stands below it.
        #[serde(default)]
        caption: String,
    },
    Reaction {
        chat: String,
        /// The message's number in the chat.
        message_id: i32,
        emoji: String,
        /// Whether it is shown with a big animation.
        #[serde(default)]
        is_big: bool,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct Queued {
    /// The rows that it became, in order: one, but for a long text.
    pub outbox_ids: Vec<i64>,
}

/// Queues a message; it is stored durably before this responds.
pub(crate) async fn post_outbox(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Queued>), ControlError> {
    let wanted: OutboxRequest = body::parse(&headers, body, HINT)?;
    let (chat, content) = validate(wanted)?;
    let channel = control.channels.outgoing().ok_or(ControlError::NoSuchRoute)?;
    let contents = channel
        .prepare(&chat, content)
        .map_err(|rejection| ControlError::Rejected(channel.name(), rejection))?;
    let (chat, delivery) = (Chat::new(channel.name(), chat), channel.delivery());
    let run = control.run.clone();
    let queued =
        control.store.write(move |tx| outbox::queue(tx, None, &chat, contents, delivery, Some(&run)));
    let queued = queued.await?;
    Ok((StatusCode::ACCEPTED, Json(Queued { outbox_ids: queued })))
}

pub(crate) async fn get_outbox(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
) -> Result<Json<OutboxRow>, ControlError> {
    let outbox_id: i64 = id.parse().map_err(|_| ControlError::NoSuchOutboxRow)?;
    let found = control.store.write(move |tx| outbox::row(tx, outbox_id)).await?;
    found.map(Json).ok_or(ControlError::NoSuchOutboxRow)
}

/// Queues again what was given up.
pub(crate) async fn post_resend(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Resent>, ControlError> {
    let which: Which = body::parse(&headers, body, RESEND_HINT)?;
    let run = control.run.clone();
    Ok(Json(control.store.write(move |tx| resend::resend(tx, &which, BY, &run)).await?))
}

fn validate(wanted: OutboxRequest) -> Result<(String, Content), ControlError> {
    match wanted {
        OutboxRequest::Text { chat, text } => Ok((chat, Content::Text(filled("text", text)?))),
        OutboxRequest::Edit { chat, message_id, text } => Ok((
            chat,
            Content::Edit { message_id: i64::from(message_id).into(), text: filled("text", text)? },
        )),
        OutboxRequest::Document { chat, file_name, content_base64, caption } => {
            let name = filled("file_name", file_name)?;
            Ok((chat, Content::Document(file(name, &content_base64, caption)?)))
        }
        OutboxRequest::Voice { chat, content_base64, caption } => {
            Ok((chat, Content::Voice(file("voice.ogg".to_owned(), &content_base64, caption)?)))
        }
        OutboxRequest::Reaction { chat, message_id, emoji, is_big } => {
            let emoji = filled("emoji", emoji)?;
            if emoji.len() > MAX_EMOJI_BYTES {
                return Err(invalid("`emoji` is not a single emoji", HINT));
            }
            Ok((chat, Content::Reaction { message_id: i64::from(message_id).into(), emoji, is_big }))
        }
    }
}

fn file(name: String, content_base64: &str, caption: String) -> Result<File, ControlError> {
    let bytes = STANDARD
        .decode(content_base64)
        .map_err(|error| invalid(format!("`content_base64` is not base64: {error}"), HINT))?;
    if bytes.is_empty() || bytes.len() > MAX_FILE_BYTES {
        let rule = format!("a file has 1 to {MAX_FILE_BYTES} bytes; this one has {}", bytes.len());
        return Err(invalid(rule, HINT));
    }
    Ok(File { name, caption: FormattedText::plain(caption), body: FileBody::Bytes(bytes), media: None })
}

fn filled(name: &str, text: String) -> Result<String, ControlError> {
    if text.trim().is_empty() { Err(invalid(format!("`{name}` is empty"), HINT)) } else { Ok(text) }
}
