//! Presses of the button that stops a task.
//!
//! A press is carried out in the transaction that stores it, and answered at once after that, however late
//! or often it comes. What a press says is not believed: its client chose it.

use protocol::{EventId, TaskId};
use rusqlite::Transaction;
use teloxide::payloads::{AnswerCallbackQuery, AnswerCallbackQuerySetters, DeleteMessage};
use teloxide::types::{CallbackQueryId, MessageId, UpdateKind, UserId};

use super::NAME;
use super::api::Api;
use super::place::Place;
use super::updates::Received;
use crate::channel::{Chat, Content, Delivery};
use crate::store::cancel::{self, Cancellation};
use crate::store::{StoreError, outbox};

const STOP: &str = "stop:";

/// A press of a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Press {
    query: CallbackQueryId,
    /// Who pressed it; none for a bot.
    pub(super) by: Option<UserId>,
    /// The message that has the button.
    pub(super) message: Option<(Place, MessageId)>,
    task: Option<TaskId>,
}

/// What somebody who pressed a button is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    query: CallbackQueryId,
    words: &'static str,
    /// A message whose task has ended: it goes.
    left_behind: Option<(Place, MessageId)>,
    /// Whether a running task is to be stopped.
    pub(super) stops: bool,
}

/// What the button of a task carries: at most 64 bytes
/// (<https://core.telegram.org/bots/api#inlinekeyboardbutton>).
pub(super) fn stop_data(task: &TaskId) -> String {
    format!("{STOP}{task}")
}

/// The press that an update is, if it is one.
pub(super) fn of(received: &Received) -> Option<Press> {
    let UpdateKind::CallbackQuery(query) = &received.update.as_ref()?.kind else { return None };
    let task = query.data.as_deref().and_then(|data| data.strip_prefix(STOP)?.parse().ok());
    let message = query.message.as_ref().map(|message| {
        // Of an old message, Telegram tells only the chat.
        let place = message.regular_message().map(Place::of);
        (place.unwrap_or(Place { chat: message.chat().id, topic: None }), message.id())
    });
    let by = (!query.from.is_bot).then_some(query.from.id);
    Some(Press { query: query.id.clone(), by, message, task })
}

impl Press {
    /// Stops the task, if whoever pressed `may` and the task is of the chat that the button is in.
    pub(super) fn carry_out(
        self,
        tx: &Transaction<'_>,
        may: bool,
        run: &EventId,
    ) -> Result<Answer, StoreError> {
        let Self { query, message, task, .. } = self;
        let answer = |words| Answer { query, words, left_behind: None, stops: false };
        let (Some((place, _)), Some(task)) = (message, task) else {
            return Ok(answer("This button does nothing any more."));
        };
        if !may {
            return Ok(answer("Only those whom this bot works for can stop it."));
        }
        let chat = Chat::new(NAME, place);
        let (cancellation, reply) = cancel::in_its_chat(tx, &task, &chat, NAME.as_str())?;
        if let Some(reply) = reply {
            let contents = vec![Content::Text(reply)];
            outbox::queue(tx, Some(&task), &chat, contents, Delivery::Push, Some(run))?;
        }
        Ok(match cancellation {
            Cancellation::Asked => Answer { stops: true, ..answer("Stopping.") },
            Cancellation::Cancelled => answer("Cancelled."),
            Cancellation::Ended { .. } | Cancellation::NoSuchTask => {
                Answer { left_behind: message, ..answer("This has already ended.") }
            }
        })
    }
}

impl Answer {
    /// Answers, so that the button stops waiting. Telegram refuses an answer that comes too late or twice,
    /// which changes nothing.
    pub(super) async fn give(self, api: Api) {
        let request = AnswerCallbackQuery::new(self.query).text(self.words);
        if let Err(error) = api.call(&request).await {
            tracing::debug!(%error, "could not answer the press of a button");
        }
        if let Some((place, message)) = self.left_behind
            && let Err(error) = api.call(&DeleteMessage::new(place.chat, message)).await
        {
            tracing::debug!(%error, "could not remove a progress message");
        }
    }
}
