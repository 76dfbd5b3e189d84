//! The answers that people write to a question of the model: whose message is one, and which. A press of one
//! of its buttons is an answer as well.

use channel::update::Incoming;
use channel::{Access, Chat};
use protocol::question::MAX_ANSWER_CHARS;
use protocol::{PersonId, Sender};
use store::approvals::{Choice, Decision};
use store::asked::{self, Asked};
use store::sql::Connection;
use store::{StoreError, approvals};
use texts::Text;

/// What follows from what somebody wrote to an open question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    Decides(Decision),
    /// Its sender reads why it decides nothing.
    Told(Text<'static>),
}

/// What follows from a message, if it is an answer: a reply to a question, or, where a question may be
/// answered in own words, any message of the person who is asked.
pub(super) fn written(
    connection: &Connection,
    chat: &Chat,
    incoming: &Incoming,
    access: &Access,
) -> Result<Option<Written>, StoreError> {
    let is_other = incoming.is_forwarded() || incoming.is_edit || incoming.command.is_some();
    let Some(sender) = incoming.sender().filter(|_| !is_other && incoming.files.is_empty()) else {
        return Ok(None);
    };
    let said = incoming.said.trim();
    let open = asked::in_chat(connection, chat)?;
    if said.is_empty() || open.is_empty() {
        return Ok(None);
    }
    let reply_to = |asked: &&Asked| incoming.answers.is_some() && asked.message == incoming.answers;
    if let Some(asked) = open.iter().find(reply_to) {
        return Ok(Some(match may_answer(asked, sender, chat, access) {
            true => answer(asked, said, sender),
            false => Written::Told(Text::NotTheAsker),
        }));
    }
    let of_approval = approvals::open_in(connection, chat)?;
    if incoming.answers.is_some() && of_approval.iter().any(|(_, message)| *message == incoming.answers) {
        return Ok(None);
    }
    let is_asked = |asked: &&Asked| asked.question.takes_text && is_asked(asked, sender, chat, access);
    Ok(open.iter().find(is_asked).map(|asked| answer(asked, said, sender)))
}

/// Whether a person may answer a question: in a group the one who is asked, or an approver.
pub(super) fn may_answer(asked: &Asked, person: &Sender, chat: &Chat, access: &Access) -> bool {
    !person.is_bot && (is_asked(asked, person, chat, access) || access.may_approve(person.id.as_str()))
}

/// Whether the question is for the person: everybody in the chat is asked about a task of no person.
fn is_asked(asked: &Asked, person: &Sender, chat: &Chat, access: &Access) -> bool {
    let is_the_one = |asker: &PersonId| *asker == person.id;
    !access.is_group(&chat.id) || asked.asker.as_ref().is_none_or(is_the_one)
}

fn answer(asked: &Asked, said: &str, sender: &Sender) -> Written {
    let Some(answer) = asked.question.answer_of(said) else { return Written::Told(Text::AnswerNoOption) };
    if answer.chars().count() > MAX_ANSWER_CHARS {
        return Written::Told(Text::AnswerTooLong);
    }
    Written::Decides(decision(asked.approval.clone(), sender, answer))
}

/// An answer as it is kept and passed on.
pub(super) fn decision(approval: String, by: &Sender, answer: String) -> Decision {
    Decision { approval, choice: Choice::Once, by: by.to_string(), reason: None, answer: Some(answer) }
}
