//! Sends a message with one call of Telegram's API.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::Value;
use teloxide::ApiError;
use teloxide::payloads::{
    EditMessageText, EditMessageTextSetters, SendMessage, SendMessageSetters, SetMessageReaction,
    SetMessageReactionSetters,
};
use teloxide::types::{ChatId, LinkPreviewOptions, MessageId, ReactionType};

use super::api::{Api, CallError, PATIENCE};
use crate::channel::content::{Content, File};

/// A file may take longer: 20 MB at 170 kB a second.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);

/// What is read of a message that was sent.
#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

/// Returns the number of the new message, if there is one.
pub(super) async fn send(api: &Api, chat: ChatId, content: &Content) -> Result<Option<i64>, CallError> {
    match content {
        Content::Text(text) => send_text(api, chat, text).await.map(Some),
        Content::Edit { message_id, text } => edit(api, chat, *message_id, text).await,
        Content::Document(file) => upload(api, chat, "SendDocument", "document", file).await.map(Some),
        Content::Voice(file) => upload(api, chat, "SendVoice", "voice", file).await.map(Some),
        Content::Reaction { message_id, emoji } => {
            let reaction = ReactionType::Emoji { emoji: emoji.clone() };
            let request = SetMessageReaction::new(chat, target(*message_id)).reaction([reaction]);
            api.call(&request).await.map(|_| None)
        }
    }
}

/// Sends a text as it is, and returns the message's number. A preview would make Telegram fetch an address,
/// which could carry data away that a file or a page put into it.
pub(super) async fn send_text(api: &Api, chat: ChatId, text: &str) -> Result<i64, CallError> {
    let request = SendMessage::new(chat, text).link_preview_options(NO_PREVIEW);
    let sent: SentMessage = api.call_for(&request, PATIENCE).await?;
    Ok(sent.message_id)
}

const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

/// Telegram refuses an edit that changes nothing: it was made before, and only the response was lost.
async fn edit(api: &Api, chat: ChatId, message_id: i64, text: &str) -> Result<Option<i64>, CallError> {
    let request = EditMessageText::new(chat, target(message_id), text).link_preview_options(NO_PREVIEW);
    match api.call_for::<_, SentMessage>(&request, PATIENCE).await {
        Ok(_) => Ok(Some(message_id)),
        Err(CallError::Refused(refusal)) if changes_nothing(&refusal.description) => Ok(Some(message_id)),
        Err(error) => Err(error),
    }
}

/// Telegram has no code for it; the client's list of descriptions does.
fn changes_nothing(description: &str) -> bool {
    let known = serde_json::from_value(Value::String(description.to_owned()));
    known.is_ok_and(|error: ApiError| error == ApiError::MessageNotModified)
}

async fn upload(
    api: &Api,
    chat: ChatId,
    method: &str,
    field: &'static str,
    file: &File,
) -> Result<i64, CallError> {
    let part = Part::bytes(file.bytes.clone()).file_name(file.name.clone());
    let form = Form::new().text("chat_id", chat.to_string()).part(field, part);
    let form = if file.caption.is_empty() { form } else { form.text("caption", file.caption.clone()) };
    let sent: SentMessage = api.upload(method, form, UPLOAD_PATIENCE).await?;
    Ok(sent.message_id)
}

/// Telegram's message numbers have 32 bits; the control port rejects others.
fn target(message_id: i64) -> MessageId {
    MessageId(i32::try_from(message_id).unwrap_or(i32::MAX))
}
