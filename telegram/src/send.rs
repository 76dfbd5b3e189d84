//! Sends one message, or an album, with one call of Telegram's API, and decides what follows from a failure.

use std::sync::Arc;
use std::time::Duration;

use channel::content::{Button, Content, File, Media, StoredFiles};
use channel::formatting::{Entity, FormattedText};
use channel::{Outgoing, SendOutcome};
use protocol::{MessageId, PersonId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide::ApiError;
use teloxide::payloads::{
    EditMessageText, EditMessageTextSetters, GetChatMember, SetMessageReaction, SetMessageReactionSetters,
};
use teloxide::types::{
    self, ChatId, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, ReactionType,
    ReplyParameters, UserId,
};

use super::MAX_CAPTION_UNITS;
use super::album;
use super::api::{Api, CallError, PATIENCE, Refusal};
use super::bot::{RetryPolicy, pause, retry_policy};
use super::split::MAX_UNITS;
use super::translate::Place;
use super::upload::{self, SentMessage};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// With these pauses, a message is tried for about an hour.
const MAX_ATTEMPTS: u32 = 20;
/// A rejection that may not be final is final after this many attempts.
const LIMITED_ATTEMPTS: u32 = 5;

pub(super) async fn send(
    api: &Api,
    files: &Arc<dyn StoredFiles>,
    Outgoing { chat_id, content, answers, attempt }: Outgoing<'_>,
) -> SendOutcome {
    let Ok(place) = chat_id.parse::<Place>() else {
        return SendOutcome::GiveUp { error: format!("invalid Telegram chat: {chat_id:?}") };
    };
    // In a private chat there is no doubt about what a message answers.
    let to = To { place, answers: answers.filter(|_| place.chat.0 < 0).map(target) };
    let sent = match content {
        Content::Album(album) => album::send(api, files, place, album).await,
        one => send_formatted(api, files, to, one).await.map(|sent| sent.into_iter().collect()),
    };
    let error = match sent {
        Ok(sent) => {
            return SendOutcome::Sent { message_ids: sent.into_iter().map(MessageId::from).collect() };
        }
        Err(error) if album::is_refused(content, &error) => {
            return SendOutcome::Apart { error: error.to_string() };
        }
        Err(error) => error,
    };
    let policy = retry_policy(&error);
    if let RetryPolicy::NeedsOperator { what, .. } = policy {
        tracing::error!(%error, "{what}");
    }
    let is_unanswered = matches!(error, CallError::NoAnswer { .. });
    after_failure(policy, error.to_string(), is_unanswered, attempt)
}

/// What follows from a failed attempt, counted from 1. Nothing is retried forever: it would block its chat.
/// A pause that Telegram names is a minimum, so that many short ones do not use up the attempts in a minute.
fn after_failure(policy: RetryPolicy, error: String, is_unanswered: bool, attempt: u32) -> SendOutcome {
    let growing = pause(FIRST_PAUSE, attempt - 1, LONGEST_PAUSE);
    let (attempts, at_least) = match policy {
        RetryPolicy::Moved { to } => return SendOutcome::Moved { chat_id: to.to_string() },
        RetryPolicy::Retry { at_least } => (MAX_ATTEMPTS, at_least),
        RetryPolicy::RetryLimited => (LIMITED_ATTEMPTS, Duration::ZERO),
        RetryPolicy::NeedsOperator { pause, .. } => (MAX_ATTEMPTS, pause),
        RetryPolicy::Never => (0, Duration::ZERO),
    };
    if attempt < attempts {
        SendOutcome::Retry { error, pause: growing.max(at_least), is_unanswered }
    } else {
        SendOutcome::GiveUp { error }
    }
}

/// Where a message goes, and which one it answers there.
#[derive(Debug, Clone, Copy)]
struct To {
    place: Place,
    answers: Option<types::MessageId>,
}

/// Sends a message with its formatting, or without it if Telegram refuses that: how it looks matters less
/// than that it arrives. Telegram has no code for what it does not like about a message, so all of its
/// refusals are tried so; one for another reason comes again. Returns the number of the new message, if there
/// is one.
async fn send_formatted(
    api: &Api,
    files: &Arc<dyn StoredFiles>,
    to: To,
    content: &Content,
) -> Result<Option<i64>, CallError> {
    match send_as_it_is(api, files, to, content).await {
        Err(CallError::Refused(Refusal { code: 400, description, migrated_to: None, .. }))
            if let Some(document) = as_document(content) =>
        {
            tracing::warn!(description, "Telegram refused to show a file; sending it as a document");
            Box::pin(send_formatted(api, files, to, &document)).await
        }
        Err(CallError::Refused(Refusal { code: 400, description, migrated_to: None, .. }))
            if content.is_formatted() =>
        {
            tracing::warn!(description, "Telegram refused a formatted message; sending it as plain text");
            send_as_it_is(api, files, to, &without_formatting(content)).await
        }
        sent => sent,
    }
}

/// A file that would be shown as a photo, video or audio, as a document.
fn as_document(content: &Content) -> Option<Content> {
    let file = content.file().filter(|file| file.media.is_some())?;
    Some(Content::Document(File { media: None, ..file.clone() }))
}

/// The same message as plain text, with the addresses of its links.
fn without_formatting(content: &Content) -> Content {
    let mut plain = content.clone();
    let (text, max_units) = match &mut plain {
        Content::Formatted(text) | Content::Question { text, .. } => (text, MAX_UNITS),
        Content::Document(file) | Content::Voice(file) => (&mut file.caption, MAX_CAPTION_UNITS),
        Content::Text(_) | Content::Edit { .. } | Content::Album(_) | Content::Reaction { .. } => {
            return plain;
        }
    };
    *text = FormattedText::plain(text.without_formatting(max_units));
    plain
}

async fn send_as_it_is(
    api: &Api,
    files: &Arc<dyn StoredFiles>,
    to: To,
    content: &Content,
) -> Result<Option<i64>, CallError> {
    match content {
        Content::Text(text) => send_message(api, to, text, &[], None).await,
        Content::Formatted(FormattedText { text, entities }) => {
            send_message(api, to, text, entities, None).await
        }
        Content::Question { text: FormattedText { text, entities }, buttons } => {
            let markup = Some(keyboard(buttons));
            send_message(api, to, text, entities, markup).await
        }
        Content::Edit { message_id, text } => edit(api, to.place.chat, message_id, text).await,
        Content::Document(file) | Content::Voice(file) => {
            let (method, field) = match file.media {
                _ if matches!(content, Content::Voice(_)) => ("SendVoice", "voice"),
                None => ("SendDocument", "document"),
                Some(Media::Photo) => ("SendPhoto", "photo"),
                Some(Media::Video) => ("SendVideo", "video"),
                Some(Media::Audio) => ("SendAudio", "audio"),
            };
            let form = upload::form(files, to.place, field, file);
            let sent: SentMessage = api.upload(method, form, upload::PATIENCE).await?;
            Ok(Some(sent.message_id))
        }
        // It has a call of its own, which falls back to its single files.
        Content::Album(_) => Ok(None),
        Content::Reaction { message_id, emoji, is_big } => {
            let reaction = ReactionType::Emoji { emoji: emoji.clone() };
            let request = SetMessageReaction::new(to.place.chat, target(message_id))
                .reaction([reaction])
                .is_big(*is_big);
            api.call(&request).await.map(|_| None)
        }
    }
}

/// `sendMessage` (<https://core.telegram.org/bots/api#sendmessage>), with entities as the outbox keeps them.
#[derive(Serialize)]
struct SendMessage<'a> {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i32>,
    text: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entities: &'a [Entity],
    link_preview_options: LinkPreviewOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_parameters: Option<ReplyParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<InlineKeyboardMarkup>,
}

pub(super) fn keyboard(buttons: &[Vec<Button>]) -> InlineKeyboardMarkup {
    let button = |button: &Button| InlineKeyboardButton::callback(&button.label, &button.data);
    let rows = buttons.iter().filter(|row| !row.is_empty());
    InlineKeyboardMarkup::new(rows.map(|row| row.iter().map(button).collect::<Vec<_>>()))
}

/// Sends a text, and returns the message's number. A preview would make Telegram fetch an address, which
/// could carry data away that a file or a page put into it.
async fn send_message(
    api: &Api,
    To { place, answers }: To,
    text: &str,
    entities: &[Entity],
    reply_markup: Option<InlineKeyboardMarkup>,
) -> Result<Option<i64>, CallError> {
    let request = SendMessage {
        chat_id: place.chat,
        message_thread_id: place.topic,
        text,
        entities,
        link_preview_options: NO_PREVIEW,
        // The message may be gone by then.
        reply_parameters: answers.map(|message| ReplyParameters::new(message).allow_sending_without_reply()),
        reply_markup,
    };
    let sent: SentMessage = api.ask("SendMessage", &request, PATIENCE).await?;
    Ok(Some(sent.message_id))
}

pub(super) const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

/// Telegram refuses an edit that changes nothing: it was made before, and only the response was lost.
async fn edit(api: &Api, chat: ChatId, message_id: &MessageId, text: &str) -> Result<Option<i64>, CallError> {
    let message_id = target(message_id);
    let request = EditMessageText::new(chat, message_id, text).link_preview_options(NO_PREVIEW);
    match api.call_for::<_, SentMessage>(&request, PATIENCE).await {
        Err(CallError::Refused(refusal)) if changes_nothing(&refusal.description) => {}
        edited => edited.map(|_| ())?,
    }
    Ok(Some(message_id.0.into()))
}

/// Telegram has no code for it; the client's list of descriptions does.
pub(super) fn changes_nothing(description: &str) -> bool {
    let known = serde_json::from_value(Value::String(description.to_owned()));
    known.is_ok_and(|error: ApiError| error == ApiError::MessageNotModified)
}

/// Whether a person is in a group; not if Telegram does not say.
pub(super) async fn is_member(api: &Api, chat: ChatId, person: &PersonId) -> bool {
    #[derive(Deserialize)]
    struct Member {
        status: String,
    }
    let Ok(person) = person.as_str().parse() else { return false };
    let request = GetChatMember::new(chat, UserId(person));
    match api.call_for::<_, Member>(&request, PATIENCE).await {
        Ok(member) => !matches!(member.status.as_str(), "left" | "kicked"),
        Err(error) => {
            tracing::warn!(%error, chat_id = chat.0, "could not read whether an approver is in a group");
            false
        }
    }
}

/// Telegram's message numbers have 32 bits; the control port rejects others.
pub(super) fn target(message: &MessageId) -> types::MessageId {
    types::MessageId(message.as_str().parse().unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_send_is_retried_with_growing_pauses_but_not_forever() {
        let retry = |seconds| RetryPolicy::Retry { at_least: Duration::from_secs(seconds) };
        for (policy, attempt, expected) in [
            (retry(0), 1, Some(1)),
            (retry(0), 2, Some(2)),
            (retry(0), 3, Some(4)),
            (retry(0), 9, Some(256)),
            (retry(0), 10, Some(300)),
            (retry(0), 19, Some(300)),
            (retry(0), 20, None),
            // Telegram's own pause is a minimum.
            (retry(1234), 1, Some(1234)),
            (retry(1), 8, Some(128)),
            (retry(1), 20, None),
            (RetryPolicy::Never, 1, None),
            (RetryPolicy::RetryLimited, 4, Some(8)),
            (RetryPolicy::RetryLimited, 5, None),
        ] {
            let error = "no luck".to_owned();
            let expected = match expected {
                Some(seconds) => {
                    SendOutcome::Retry { error, pause: Duration::from_secs(seconds), is_unanswered: false }
                }
                None => SendOutcome::GiveUp { error },
            };
            let outcome = after_failure(policy, "no luck".to_owned(), false, attempt);
            assert_eq!(outcome, expected, "{policy:?}, attempt {attempt}");
        }
    }
}
