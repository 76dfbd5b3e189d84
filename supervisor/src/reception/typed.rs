//! A yes or a no that somebody types while a question about a call is open in the chat. As a reply to the
//! question, by somebody who may decide, it counts; else its sender reads how to decide. It is no task.

use channel::update::Incoming;
use channel::{Access, Chat};
use store::StoreError;
use store::approvals::{self, Choice, Decision};
use store::sql::Connection;
use texts::Text;

use super::answers::Written;

/// In the languages of the bot's own words.
const YES: [&str; 13] =
    ["yes", "y", "ok", "okay", "allow", "ja", "erlauben", "sí", "si", "да", "разрешить", "是", "允许"];
const NO: [&str; 11] =
    ["no", "n", "deny", "don't", "nein", "ablehnen", "denegar", "нет", "запретить", "不", "拒绝"];

/// What follows from a message, if it is a yes or a no and a question is open.
pub(super) fn typed(
    connection: &Connection,
    chat: &Chat,
    incoming: &Incoming,
    access: &Access,
) -> Result<Option<Written>, StoreError> {
    let choice = choice(&incoming.said).filter(|_| !incoming.is_forwarded());
    let Some(choice) = choice else { return Ok(None) };
    let open = approvals::open_in(connection, chat)?;
    if open.is_empty() {
        return Ok(None);
    }
    let answered = incoming.answers.as_ref();
    let question = open.iter().find(|(_, message)| answered.is_some() && message.as_ref() == answered);
    let (Some((approval, _)), Some(sender)) = (question, incoming.sender()) else {
        return Ok(Some(Written::Told(Text::UseTheButtons)));
    };
    if !access.may_approve(sender.id.as_str()) {
        return Ok(Some(Written::Told(Text::NotAnApprover)));
    }
    let (approval, by) = (approval.as_str().to_owned(), sender.to_string());
    Ok(Some(Written::Decides(Decision { approval, choice, by, reason: None, answer: None })))
}

/// A yes is for the call alone.
fn choice(said: &str) -> Option<Choice> {
    let said = said.trim().trim_end_matches(['.', '!', '。', '！']).to_lowercase();
    if YES.contains(&said.as_str()) {
        return Some(Choice::Once);
    }
    NO.contains(&said.as_str()).then_some(Choice::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_or_a_no_is_one_word_alone() {
        for (said, expected) in [
            ("yes", Some(Choice::Once)),
            (" Yes! ", Some(Choice::Once)),
            ("OK.", Some(Choice::Once)),
            ("Да", Some(Choice::Once)),
            ("no", Some(Choice::Deny)),
            ("Nein.", Some(Choice::Deny)),
            ("yes, but not the second file", None),
            ("know", None),
            ("", None),
        ] {
            assert_eq!(choice(said), expected, "{said:?}");
        }
    }
}
