//! Sends a message with one call of Telegram's API.

use teloxide::payloads::{
    EditMessageTextSetters, SendDocumentSetters, SendMessageSetters, SendVoiceSetters,
    SetMessageReactionSetters,
};
use teloxide::prelude::Requester;
use teloxide::types::{ChatId, InputFile, LinkPreviewOptions, Message, MessageId, ReactionType};
use teloxide::{ApiError, Bot, RequestError};

use crate::channel::content::{Content, File};

/// Returns the number of the new message, if there is one.
pub(super) async fn send(api: &Bot, chat: ChatId, content: &Content) -> Result<Option<i64>, RequestError> {
    match content {
        Content::Text(text) => send_text(api, chat, text).await.map(|sent| number(&sent)),
        Content::Edit { message_id, text } => edit(api, chat, *message_id, text).await,
        Content::Document(file) => {
            let request = api.send_document(chat, input(file));
            let request =
                if file.caption.is_empty() { request } else { request.caption(file.caption.as_str()) };
            request.await.map(|sent| number(&sent))
        }
        Content::Voice(file) => {
            let request = api.send_voice(chat, input(file));
            let request =
                if file.caption.is_empty() { request } else { request.caption(file.caption.as_str()) };
            request.await.map(|sent| number(&sent))
        }
        Content::Reaction { message_id, emoji } => {
            let reaction = ReactionType::Emoji { emoji: emoji.clone() };
            api.set_message_reaction(chat, target(*message_id)).reaction([reaction]).await.map(|_| None)
        }
    }
}

/// Sends a text as it is. A preview would make Telegram fetch an address, which could carry data away that a
/// file or a page put into it.
pub(super) async fn send_text(api: &Bot, chat: ChatId, text: &str) -> Result<Message, RequestError> {
    api.send_message(chat, text).link_preview_options(NO_PREVIEW).await
}

const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

/// Telegram refuses an edit that changes nothing: it was made before, and only the response was lost.
async fn edit(api: &Bot, chat: ChatId, message_id: i64, text: &str) -> Result<Option<i64>, RequestError> {
    match api.edit_message_text(chat, target(message_id), text).link_preview_options(NO_PREVIEW).await {
        Ok(_) | Err(RequestError::Api(ApiError::MessageNotModified)) => Ok(Some(message_id)),
        Err(error) => Err(error),
    }
}

fn input(file: &File) -> InputFile {
    InputFile::memory(file.bytes.clone()).file_name(file.name.clone())
}

fn number(message: &Message) -> Option<i64> {
    Some(i64::from(message.id.0))
}

/// Telegram's message numbers have 32 bits; the control port rejects others.
fn target(message_id: i64) -> MessageId {
    MessageId(i32::try_from(message_id).unwrap_or(i32::MAX))
}
