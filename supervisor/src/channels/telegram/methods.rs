//! Sends a message with one call of Telegram's API.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::ApiError;
use teloxide::payloads::{
    EditMessageText, EditMessageTextSetters, SetMessageReaction, SetMessageReactionSetters,
};
use teloxide::requests::Payload;
use teloxide::types::{ChatId, LinkPreviewOptions, MessageId, ReactionType};

use super::api::{Api, CallError, PATIENCE, Refusal};
use crate::channel::content::{Content, File};
use crate::formatting::{Entity, FormattedText};

/// A file may take longer: 20 MB at 170 kB a second.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);

/// What is read of a message that was sent.
#[derive(Deserialize)]
pub(super) struct SentMessage {
    pub(super) message_id: i64,
}

/// Returns the number of the new message, if there is one.
pub(super) async fn send(api: &Api, chat: ChatId, content: &Content) -> Result<Option<i64>, CallError> {
    match content {
        Content::Text(text) => send_text(api, chat, text).await.map(Some),
        Content::Formatted(formatted) => send_formatted(api, chat, formatted).await.map(Some),
        Content::Edit { message_id, text } => edit(api, chat, *message_id, text).await,
        Content::Document(file) => upload(api, chat, "SendDocument", "document", file).await.map(Some),
        Content::Voice(file) => upload(api, chat, "SendVoice", "voice", file).await.map(Some),
        Content::Reaction { message_id, emoji, is_big } => {
            let reaction = ReactionType::Emoji { emoji: emoji.clone() };
            let request =
                SetMessageReaction::new(chat, target(*message_id)).reaction([reaction]).is_big(*is_big);
            api.call(&request).await.map(|_| None)
        }
    }
}

/// Sends a text as it is, and returns the message's number. A preview would make Telegram fetch an address,
/// which could carry data away that a file or a page put into it.
pub(super) async fn send_text(api: &Api, chat: ChatId, text: &str) -> Result<i64, CallError> {
    send_message(api, chat, text, &[]).await
}

/// Sends a text with its formatting, or without it if Telegram refuses that: how it looks matters less than
/// that it arrives. Telegram has no code for what it does not like about a message, so all of its refusals
/// are tried so; one for another reason comes again.
async fn send_formatted(api: &Api, chat: ChatId, formatted: &FormattedText) -> Result<i64, CallError> {
    let FormattedText { text, entities } = formatted;
    match send_message(api, chat, text, entities).await {
        Err(CallError::Refused(Refusal { code: 400, description, migrated_to: None, .. })) => {
            tracing::warn!(description, "Telegram refused a formatted message; sending it as plain text");
            send_text(api, chat, text).await
        }
        sent => sent,
    }
}

/// `sendMessage` (<https://core.telegram.org/bots/api#sendmessage>), with entities as the outbox keeps them.
#[derive(Serialize)]
struct SendMessage<'a> {
    chat_id: ChatId,
    text: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entities: &'a [Entity],
    link_preview_options: LinkPreviewOptions,
}

impl Payload for SendMessage<'_> {
    type Output = Value;

    const NAME: &'static str = "SendMessage";
}

async fn send_message(api: &Api, chat: ChatId, text: &str, entities: &[Entity]) -> Result<i64, CallError> {
    let request = SendMessage { chat_id: chat, text, entities, link_preview_options: NO_PREVIEW };
    let sent: SentMessage = api.call_for(&request, PATIENCE).await?;
    Ok(sent.message_id)
}

pub(super) const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
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
pub(super) fn changes_nothing(description: &str) -> bool {
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
pub(super) fn target(message_id: i64) -> MessageId {
    MessageId(i32::try_from(message_id).unwrap_or(i32::MAX))
}
