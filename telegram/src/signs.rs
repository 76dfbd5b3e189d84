//! Signs of life in Telegram: the chat action `typing`, and a silent message with a button that stops its
//! task.

use std::time::Duration;

use channel::formatting::Entity;
use channel::sign::{Draft, Lost, Progress, Shown, Sign, Stage};
use protocol::MessageId;
use serde::Serialize;
use serde_json::Value;
use teloxide::payloads::{
    DeleteMessage, EditMessageReplyMarkup, EditMessageReplyMarkupSetters as _, SendChatAction,
    SendChatActionSetters as _, SetMessageReaction, SetMessageReactionSetters as _,
};
use teloxide::requests::Payload;
use teloxide::types::{
    self, ChatAction, ChatId, InlineKeyboardMarkup, LinkPreviewOptions, ReactionType, ThreadId,
};

use super::api::{Api, CallError, Refusal};
use super::send::{NO_PREVIEW, changes_nothing, keyboard, target};
use super::translate::Place;
use super::upload::SentMessage;

/// A sign that takes longer comes too late.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause after a failure for which Telegram names none.
const PAUSE: Duration = Duration::from_secs(10);

/// How many numbers are tried for a message that was lost: it came soon after those that are known.
const MOST_NUMBERS: i32 = 15;

/// A progress message: a new one, or what an earlier one tells now.
#[derive(Serialize)]
struct ProgressMessage<'a> {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<i32>,
    text: &'a str,
    entities: &'a [Entity],
    link_preview_options: LinkPreviewOptions,
    reply_markup: InlineKeyboardMarkup,
    /// The answer rings, not this.
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_notification: Option<bool>,
}

/// `sendMessageDraft` (<https://core.telegram.org/bots/api#sendmessagedraft>).
#[derive(Serialize)]
struct SendMessageDraft<'a> {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<i32>,
    draft_id: u32,
    text: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entities: &'a [Entity],
}

/// The same number for each draft of a task, also after a restart; never zero (FNV-1a).
fn draft_id(draft: &Draft) -> u32 {
    let of = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    draft.task.as_str().as_bytes().iter().fold(0x811c_9dc5, of) & 0x7fff_ffff | 1
}

impl<'a> ProgressMessage<'a> {
    fn new(place: Place, message_id: Option<&MessageId>, progress: &'a Progress) -> Self {
        Self {
            chat_id: place.chat,
            // An edited message stays where it is.
            message_thread_id: place.topic.filter(|_| message_id.is_none()),
            message_id: message_id.map(|id| target(id).0),
            text: &progress.text.text,
            entities: &progress.text.entities,
            link_preview_options: NO_PREVIEW,
            reply_markup: keyboard(&[progress.stop.iter().cloned().collect()]),
            disable_notification: message_id.is_none().then_some(true),
        }
    }
}

pub(super) async fn show(api: &Api, place: Place, sign: &Sign) -> Shown {
    let done = match sign {
        Sign::Typing => {
            let typing = SendChatAction::new(place.chat, ChatAction::Typing);
            match place.topic.map(|topic| ThreadId(types::MessageId(topic))) {
                Some(topic) => call(api, &typing.message_thread_id(topic)).await,
                None => call(api, &typing).await,
            }
        }
        Sign::Progress(progress) => {
            let request = ProgressMessage::new(place, None, progress);
            let sent = api.ask::<SentMessage>("SendMessage", &request, PATIENCE).await;
            sent.map(|sent| Some(sent.message_id.into()))
        }
        Sign::Update { message_id, progress } => {
            let request = ProgressMessage::new(place, Some(message_id), progress);
            api.ask::<Value>("EditMessageText", &request, PATIENCE).await.map(|_| None)
        }
        Sign::Remove { message_id } => call(api, &DeleteMessage::new(place.chat, target(message_id))).await,
        Sign::Draft(draft) => {
            let request = SendMessageDraft {
                chat_id: place.chat,
                message_thread_id: place.topic,
                draft_id: draft_id(draft),
                text: &draft.text.text,
                entities: &draft.text.entities,
            };
            api.ask::<Value>("SendMessageDraft", &request, PATIENCE).await.map(|_| None)
        }
        Sign::Find(lost) => find(api, place.chat, lost).await,
    };
    match done {
        Ok(message_id) => Shown::Yes { message_id },
        // A server of an older Bot API does not know the method.
        Err(CallError::Refused(Refusal { code: 404, .. })) if matches!(sign, Sign::Draft(_)) => Shown::Never,
        Err(error) => after_failure(&error),
    }
}

/// Reacts to a message of a person, in place of an earlier reaction. A bot has few to choose from
/// (<https://core.telegram.org/bots/api#reactiontypeemoji>), and no check mark among them.
pub(super) async fn react(api: &Api, place: Place, message: &MessageId, stage: Stage) -> Shown {
    let emoji = match stage {
        Stage::Seen => Some("👀"),
        Stage::Working => Some("✍"),
        Stage::Done => Some("👌"),
        Stage::Unseen | Stage::Ended => None,
    };
    let reaction = emoji.map(|emoji| ReactionType::Emoji { emoji: emoji.to_owned() });
    let request = SetMessageReaction::new(place.chat, target(message)).reaction(reaction);
    match call(api, &request).await {
        Ok(_) => Shown::Yes { message_id: None },
        Err(error) => after_failure(&error),
    }
}

/// Telegram lists no messages. But the button of a lost one names its task, so that message is the one that
/// this button would leave unchanged; those of people cannot be edited at all.
async fn find(api: &Api, chat: ChatId, lost: &Lost) -> Result<Option<MessageId>, CallError> {
    let after = target(&lost.after).0;
    let numbers = (after..after.saturating_add(MOST_NUMBERS)).map(types::MessageId);
    for number in numbers.filter(|number| !lost.others.iter().any(|other| target(other) == *number)) {
        let request = EditMessageReplyMarkup::new(chat, number);
        let with_button = request.clone().reply_markup(keyboard(&[vec![lost.stop.clone()]]));
        match call(api, &with_button).await {
            // One of ours that nothing here knows: it gets no button.
            Ok(_) => drop(call(api, &request).await?),
            Err(CallError::Refused(refusal)) if changes_nothing(&refusal.description) => {
                return Ok(Some(i64::from(number.0).into()));
            }
            Err(CallError::Refused(Refusal { code: 400, .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

async fn call<P: Payload + Serialize>(api: &Api, request: &P) -> Result<Option<MessageId>, CallError> {
    api.call_for::<_, Value>(request, PATIENCE).await.map(|_| None)
}

fn after_failure(error: &CallError) -> Shown {
    match error {
        CallError::Refused(Refusal { description, .. }) if changes_nothing(description) => {
            Shown::Yes { message_id: None }
        }
        CallError::Refused(Refusal { retry_after: Some(pause), .. }) => Shown::Later { pause: *pause },
        // The message is gone, or the chat is.
        CallError::Refused(Refusal { code: 400 | 403, .. }) => {
            tracing::debug!(%error, "Telegram refused a sign of life");
            Shown::Never
        }
        CallError::NoAnswer { may_be_done, .. } => {
            Shown::Unanswered { may_be_seen: *may_be_done, pause: PAUSE }
        }
        CallError::Refused(_) => Shown::Later { pause: PAUSE },
    }
}
