//! Presses of buttons: the one that stops a task, and those below questions.
//!
//! A press is carried out in the transaction that stores it, and answered at once after that, however late
//! or often it comes. What a press says is not believed: its client chose it.

use protocol::{EventId, TaskId};
use rusqlite::Transaction;
use teloxide::payloads::{
    AnswerCallbackQuery, AnswerCallbackQuerySetters, DeleteMessage, EditMessageReplyMarkup,
};
use teloxide::types::{CallbackQueryId, MessageId, UpdateKind, UserId};

use super::NAME;
use super::api::Api;
use super::origin;
use super::place::Place;
use super::stranger;
use super::updates::Received;
use crate::approvals::client::{Approvals, Outcome};
use crate::approvals::pass_on;
use crate::approvals::words::Choice;
use crate::channel::{Chat, Content, Delivery};
use crate::store::cancel::{self, Cancellation};
use crate::store::decisions::{self, Decision};
use crate::store::{Store, StoreError, outbox};

const STOP: &str = "stop:";
const NOTHING: &str = "This button does nothing any more.";

/// A press of a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Press {
    query: CallbackQueryId,
    /// Who pressed it; none for a bot.
    pub(super) by: Option<UserId>,
    /// The message that has the button.
    pub(super) message: Option<(Place, MessageId)>,
    asks: Asks,
    /// Who pressed it, in words.
    name: String,
}

/// What a press asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asks {
    Stop(TaskId),
    Stranger(stranger::Decision),
    Decide {
        approval: String,
        choice: Choice,
    },
    /// A button of another version.
    Unknown,
}

/// The answer to a press on a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    query: CallbackQueryId,
    words: String,
    /// A message whose task has ended: it goes.
    left_behind: Option<(Place, MessageId)>,
    /// Whether a task is to be stopped, or was cancelled.
    pub(super) stops: bool,
    /// A chat that may use the bot from now on.
    pub(super) paired: Option<i64>,
    /// The press to pass on, and the answer to it.
    decides: Option<Decision>,
    /// The message with the button.
    message: Option<(Place, MessageId)>,
}

/// What the button of a task carries: at most 64 bytes
/// (<https://core.telegram.org/bots/api#inlinekeyboardbutton>).
pub(super) fn stop_data(task: &TaskId) -> String {
    format!("{STOP}{task}")
}

/// The press that an update is, if it is one.
pub(super) fn of(received: &Received) -> Option<Press> {
    let UpdateKind::CallbackQuery(query) = &received.update.as_ref()?.kind else { return None };
    let asks = asks(query.data.as_deref().unwrap_or_default());
    let message = query.message.as_ref().map(|message| {
        // Of an old message, Telegram tells only the chat.
        let place = message.regular_message().map(Place::of);
        (place.unwrap_or(Place { chat: message.chat().id, topic: None }), message.id())
    });
    let by = (!query.from.is_bot).then_some(query.from.id);
    Some(Press { query: query.id.clone(), by, message, asks, name: origin::person(&query.from).to_string() })
}

fn asks(data: &str) -> Asks {
    if let Some(task) = data.strip_prefix(STOP).and_then(|task| task.parse().ok()) {
        return Asks::Stop(task);
    }
    if let Some((choice, approval)) = Choice::of(data) {
        return Asks::Decide { approval: approval.to_owned(), choice };
    }
    stranger::Decision::of(data).map_or(Asks::Unknown, Asks::Stranger)
}

impl Press {
    pub(super) fn is_a_decision(&self) -> bool {
        matches!(self.asks, Asks::Decide { .. })
    }

    pub(super) fn is_about_a_stranger(&self) -> bool {
        matches!(self.asks, Asks::Stranger(_))
    }

    /// Applies the button if `may` is true.
    pub(super) fn carry_out(
        self,
        tx: &Transaction<'_>,
        may: bool,
        run: &EventId,
    ) -> Result<Answer, StoreError> {
        let Some((place, message)) = self.message else { return Ok(self.answer(NOTHING)) };
        match self.asks.clone() {
            Asks::Unknown => Ok(self.answer(NOTHING)),
            Asks::Stop(_) if !may => Ok(self.answer("Only people this bot works for can stop it.")),
            Asks::Stranger(_) if !may => Ok(self.answer("Only the owner of this bot decides that.")),
            Asks::Decide { .. } if !may => Ok(self.answer("Only an approver of this bot decides that.")),
            Asks::Decide { approval, choice } => {
                let decision = Decision { approval, choice, by: self.name.clone(), reason: None };
                if !decisions::keep(tx, &decision)? {
                    return Ok(self.answer("This was decided before, and is being passed on."));
                }
                Ok(Answer { decides: Some(decision), ..self.answer("") })
            }
            Asks::Stop(task) => self.stop(tx, &task, run),
            Asks::Stranger(decision) => {
                let (words, paired) = decision.carry_out(tx, place, message, run)?;
                Ok(Answer { paired, ..self.answer(&words) })
            }
        }
    }

    fn answer(self, words: &str) -> Answer {
        let words = words.to_owned();
        Answer {
            query: self.query,
            words,
            message: self.message,
            left_behind: None,
            stops: false,
            paired: None,
            decides: None,
        }
    }

    /// Stops a task, if it is of the chat that the button is in.
    fn stop(self, tx: &Transaction<'_>, task: &TaskId, run: &EventId) -> Result<Answer, StoreError> {
        let Some((place, _)) = self.message else { return Ok(self.answer(NOTHING)) };
        let chat = Chat::new(NAME, place);
        let (cancellation, reply) = cancel::in_its_chat(tx, task, &chat, NAME.as_str())?;
        if let Some(reply) = reply {
            let contents = vec![Content::Text(reply)];
            outbox::queue(tx, Some(task), &chat, contents, Delivery::Push, Some(run))?;
        }
        let message = self.message;
        Ok(match cancellation {
            Cancellation::Asked => Answer { stops: true, ..self.answer("Stopping.") },
            Cancellation::Cancelled => Answer { stops: true, ..self.answer("Cancelled.") },
            Cancellation::Ended { .. } | Cancellation::NoSuchTask => {
                Answer { left_behind: message, ..self.answer("This has already ended.") }
            }
        })
    }
}

impl Answer {
    /// Answers, so that the button stops waiting. Telegram refuses an answer that comes too late or twice,
    /// which changes nothing.
    pub(super) async fn give(self, api: Api, approvals: Option<Approvals>, store: Store) {
        let (words, is_over) = match self.decides {
            Some(decision) => pass_on(approvals.as_ref(), &store, decision).await,
            None => (self.words, false),
        };
        let request = AnswerCallbackQuery::new(self.query).text(words);
        if let Err(error) = api.call(&request).await {
            tracing::debug!(%error, "could not answer the press of a button");
        }
        // A question that was sent twice, by a kill in between, is known by its press alone.
        if let Some((place, message)) = self.message.filter(|_| is_over)
            && let Err(error) = api.call(&EditMessageReplyMarkup::new(place.chat, message)).await
        {
            tracing::debug!(%error, "the buttons of a question are gone already");
        }
        if let Some((place, message)) = self.left_behind
            && let Err(error) = api.call(&DeleteMessage::new(place.chat, message)).await
        {
            tracing::debug!(%error, "could not remove a progress message");
        }
    }
}

/// Passes on a decision that is stored, and says what became of it, and whether it is over. The message is
/// edited once the tool server reports the decision.
async fn pass_on(approvals: Option<&Approvals>, store: &Store, decision: Decision) -> (String, bool) {
    let Some(approvals) = approvals else { return (NOTHING.to_owned(), false) };
    let is_denied = decision.choice == Choice::Deny;
    let words = match pass_on::just_taken(approvals, store, decision).await {
        Outcome::Unreachable => {
            return ("Noted. It takes effect as soon as the tool server answers again.".to_owned(), false);
        }
        Outcome::Taken(_) if is_denied => "Denied.".to_owned(),
        Outcome::Taken(_) => "Allowed.".to_owned(),
        Outcome::Before(words) | Outcome::Failed(words) => words,
        Outcome::Unknown => "This is not waited for any more.".to_owned(),
    };
    // Telegram shows at most 200 characters.
    (words.chars().take(200).collect(), true)
}
