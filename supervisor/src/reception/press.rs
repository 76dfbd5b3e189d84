//! Presses of buttons: the one that stops a task, and those below questions.
//!
//! A press is carried out in the transaction that stores it, and answered at once after that, however late
//! or often it comes.

use std::sync::Arc;

use channel::content::Button;
use channel::sign::Sign;
use channel::update::{Press, PressAnswer};
use channel::{Access, Channel, Chat, Content, Delivery};
use protocol::{MessageId, TaskId};
use store::approvals::{self, Decision};
use store::cancel::{self, Cancellation};
use store::sql::Connection;
use store::{StoreError, asked, languages, outbox};
use texts::{Language, Text};

use super::Inbound;
use super::admission::{Obeyed, Rules, obeyed};
use super::answers;
use crate::approvals::client::Outcome;
use crate::approvals::words::{self, Choice};
use crate::commands::language;
use crate::strangers;

const STOP: &str = "stop:";

/// What a press asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asks {
    Stop(TaskId),
    Stranger(strangers::Decision),
    Language(Language),
    Decide {
        approval: String,
        choice: Choice,
    },
    Answer {
        approval: String,
        option: usize,
    },
    /// A button of another version.
    Unknown,
}

/// What follows from a press that was stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    words: String,
    /// A progress message whose task has ended: it goes.
    left_behind: bool,
    /// Whether a task is to be stopped, or was cancelled.
    pub(super) stops: bool,
    /// A chat that may use the bot from now on.
    pub(super) paired: Option<Chat>,
    /// What is to be passed on; the outcome is the answer.
    decides: Option<Decision>,
    /// That of the chat.
    language: Language,
}

/// The button that stops a task.
pub(crate) fn stop_button(task: &TaskId, language: Language) -> Button {
    Button::new(&Text::ButtonStop.to(language), format!("{STOP}{task}"))
}

fn asks(data: &str) -> Asks {
    if let Some(task) = data.strip_prefix(STOP).and_then(|task| task.parse().ok()) {
        return Asks::Stop(task);
    }
    if let Some((choice, approval)) = words::pressed(data) {
        return Asks::Decide { approval: approval.to_owned(), choice };
    }
    if let Some(language) = language::pressed(data) {
        return Asks::Language(language);
    }
    if let Some((option, approval)) = words::answered(data) {
        return Asks::Answer { approval: approval.to_owned(), option };
    }
    strangers::Decision::of(data).map_or(Asks::Unknown, Asks::Stranger)
}

/// Why the person may not press the button; none if they may.
fn refusal(asks: &Asks, press: &Press, chat: &Chat, rules: &Rules<'_>) -> Option<Text<'static>> {
    let person = press.by.id.as_str();
    let (may, words) = match asks {
        Asks::Unknown => (false, Text::PressNothing),
        Asks::Stop(_) => (is_worked_for(press, chat, rules), Text::StopNotAllowed),
        Asks::Language(_) => (is_worked_for(press, chat, rules), Text::LanguageNotAllowed),
        Asks::Stranger(_) => (rules.access.owner().as_deref() == Some(person), Text::PairingOwnerDecides),
        Asks::Answer { .. } => {
            let may = is_worked_for(press, chat, rules) || rules.access.may_approve(person);
            (may, Text::AnswerNotAllowed)
        }
        Asks::Decide { .. } => (rules.access.may_approve(person), Text::NotAnApprover),
    };
    (!may || press.by.is_bot).then_some(words)
}

fn is_worked_for(press: &Press, chat: &Chat, rules: &Rules<'_>) -> bool {
    rules.access.allows(&chat.id) && obeyed(Some(&press.by), chat, rules) == Obeyed::Yes
}

/// Whether the answer depends on who administers the group.
pub(super) fn needs_administrators(press: &Press, chat: &Chat, access: &Access) -> bool {
    let rules = Rules { access, administrators: None, not_before: None };
    matches!(asks(&press.data), Asks::Stop(_) | Asks::Language(_) | Asks::Answer { .. })
        && access.allows(&chat.id)
        && obeyed(Some(&press.by), chat, &rules) == Obeyed::DependsOnAdministrators
}

/// Applies a press in its chat, at the message with the button.
pub(super) fn carry_out(
    tx: &Connection,
    press: &Press,
    (chat, message_id): (&Chat, Option<&MessageId>),
    rules: &Rules<'_>,
    inbound: &Inbound,
) -> Result<Effect, StoreError> {
    let language = languages::of(tx, chat)?;
    let said = |text: Text<'_>| Effect { words: text.to(language), language, ..Effect::default() };
    let asks = asks(&press.data);
    let Some(message_id) = message_id else { return Ok(said(Text::PressNothing)) };
    if let Some(text) = refusal(&asks, press, chat, rules) {
        return Ok(said(text));
    }
    match asks {
        Asks::Unknown => Ok(said(Text::PressNothing)),
        Asks::Decide { approval, choice } => {
            let (by, reason, answer) = (press.by.to_string(), None, None);
            decide(tx, Decision { approval, choice, by, reason, answer }, language)
        }
        Asks::Answer { approval, option } => {
            let Some(asked) = asked::one(tx, &approval, chat)? else { return Ok(said(Text::PressNothing)) };
            if !answers::may_answer(&asked, &press.by, chat, rules.access) {
                return Ok(said(Text::NotTheAsker));
            }
            let Some(answer) = asked.question.options.get(option).cloned() else {
                return Ok(said(Text::PressNothing));
            };
            decide(tx, answers::decision(approval, &press.by, answer), language)
        }
        Asks::Stop(task) => stop(tx, &task, (chat, language), inbound),
        Asks::Language(chosen) => {
            let words = language::choose(tx, chat, chosen)?;
            // An edit without buttons removes them.
            let edit = vec![Content::Edit { message_id: message_id.clone(), text: words.clone() }];
            outbox::queue(tx, None, chat, edit, Delivery::Push, Some(&inbound.run))?;
            Ok(Effect { words, language: chosen, ..Effect::default() })
        }
        Asks::Stranger(decision) => {
            let (words, paired) = decision.carry_out(tx, (chat, message_id.clone()), &inbound.run)?;
            Ok(Effect { words, paired, ..Effect::default() })
        }
    }
}

/// Keeps a decision, which is passed on; the first one counts.
fn decide(tx: &Connection, decision: Decision, language: Language) -> Result<Effect, StoreError> {
    if approvals::keep(tx, &decision)? {
        return Ok(Effect { decides: Some(decision), language, ..Effect::default() });
    }
    Ok(Effect { words: Text::DecidedBefore.to(language), language, ..Effect::default() })
}

/// Stops a task, if it is of the chat that the button is in.
fn stop(
    tx: &Connection,
    task: &TaskId,
    (chat, language): (&Chat, Language),
    inbound: &Inbound,
) -> Result<Effect, StoreError> {
    let (cancellation, reply) = cancel::in_its_chat(tx, task, chat, chat.channel.as_str())?;
    if let Some(reply) = reply {
        let contents = vec![Content::Text(reply)];
        outbox::queue(tx, Some(task), chat, contents, Delivery::Push, Some(&inbound.run))?;
    }
    let (text, stops) = match cancellation {
        Cancellation::Asked => (Text::PressStopping, true),
        Cancellation::Cancelled => (Text::PressCancelled, true),
        Cancellation::Ended { .. } | Cancellation::NoSuchTask => (Text::PressEnded, false),
    };
    Ok(Effect { words: text.to(language), stops, left_behind: !stops, ..Effect::default() })
}

impl Effect {
    /// Passes on what was decided, and answers.
    pub(super) async fn answer(
        self,
        channel: Arc<dyn Channel>,
        inbound: Inbound,
        press: Press,
        (chat, message_id): (Chat, Option<MessageId>),
    ) {
        let (words, is_over) = match self.decides {
            Some(decision) => pass_on(&inbound, decision, self.language).await,
            None => (self.words, false),
        };
        // A question that was sent twice, by a kill in between, is known by its press alone.
        let closes = message_id.clone().filter(|_| is_over).map(|message| (chat.clone(), message));
        channel.answer(PressAnswer { press_id: press.id, words, closes }).await;
        if let Some(message_id) = message_id.filter(|_| self.left_behind) {
            channel.show(&chat.id, &Sign::Remove { message_id }).await;
        }
    }
}

/// Passes on a decision that is stored, and says what became of it, and whether it is over. The message is
/// edited once the tool server reports the decision.
async fn pass_on(inbound: &Inbound, decision: Decision, language: Language) -> (String, bool) {
    let Some(approvals) = &inbound.approvals else { return (Text::PressNothing.to(language), false) };
    let (is_denied, answers) = (decision.choice == Choice::Deny, decision.answer.is_some());
    let words = match approvals.pass_on(&inbound.store, decision).await {
        Outcome::Unreachable => {
            return (Text::PressNoted.to(language), false);
        }
        Outcome::Taken(_) if answers => Text::PressAnswered.to(language),
        Outcome::Taken(_) if is_denied => Text::PressDenied.to(language),
        Outcome::Taken(_) => Text::PressAllowed.to(language),
        Outcome::Before => Text::PressDecidedBefore.to(language),
        Outcome::Failed(words) => words,
        Outcome::Unknown => Text::PressNotWaitedFor.to(language),
    };
    (words, true)
}
