//! The question whether a stranger may use the bot, in the private chat of its owner.

use protocol::EventId;
use rusqlite::Transaction;
use teloxide::types::MessageId;

use super::NAME;
use super::place::Place;
use crate::channel::content::Button;
use crate::channel::{Chat, Content, Delivery};
use crate::formatting::FormattedText;
use crate::store::{StoreError, outbox, pairing};

const ALLOW: &str = "pair:allow:";
const IGNORE: &str = "pair:ignore:";

/// What the owner has decided about the chat with this code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    allows: bool,
    code: String,
}

pub(super) fn question(chat: &Chat, title: &str, code: &str) -> Content {
    let text = format!(
        "{title} wants to use this bot (chat ID {}). Allow it only if you know who that is: they can do \
         what you can do. The code {code} is good for an hour.",
        chat.id
    );
    let button = |label, prefix| Button::new(label, format!("{prefix}{code}"));
    Content::Question {
        text: FormattedText { text, entities: Vec::new() },
        buttons: vec![vec![button("Allow", ALLOW), button("Ignore", IGNORE)]],
    }
}

impl Decision {
    /// What a button says, if it is one of these.
    pub(super) fn of(data: &str) -> Option<Self> {
        let (allows, code) = match (data.strip_prefix(ALLOW), data.strip_prefix(IGNORE)) {
            (Some(code), _) => (true, code),
            (None, code) => (false, code?),
        };
        Some(Self { allows, code: code.to_owned() })
    }

    /// Carries it out, and replaces the question and its buttons by what was decided. Returns the answer
    /// to the press, and the chat that may use the bot from now on.
    pub(super) fn carry_out(
        &self,
        tx: &Transaction<'_>,
        place: Place,
        message: MessageId,
        run: &EventId,
    ) -> Result<(String, Option<i64>), StoreError> {
        let Some(waits) = pairing::waiting_with(tx, &self.code)? else {
            let told = "This code was used, or it has expired.";
            replace(tx, place, message, told, run)?;
            return Ok((told.to_owned(), None));
        };
        let who = format!("{} (chat ID {})", waits.title, waits.chat.id);
        if !self.allows {
            let told = format!("{who} is ignored. `supervisor pair {}` still allows it.", self.code);
            replace(tx, place, message, &told, run)?;
            return Ok(("Ignored.".to_owned(), None));
        }
        let Some(known) = pairing::pair(tx, &self.code, NAME.as_str(), run)? else {
            return Ok(("This code was used, or it has expired.".to_owned(), None));
        };
        pairing::welcome(tx, &known, Delivery::Push, run)?;
        let told =
            format!("{who} may use this bot now. `supervisor unpair {}` takes that back.", known.chat.id);
        replace(tx, place, message, &told, run)?;
        Ok(("Allowed.".to_owned(), known.chat.id.parse().ok()))
    }
}

/// An edit without buttons removes them.
fn replace(
    tx: &Transaction<'_>,
    place: Place,
    message: MessageId,
    text: &str,
    run: &EventId,
) -> Result<(), StoreError> {
    let edit = Content::Edit { message_id: i64::from(message.0).into(), text: text.to_owned() };
    outbox::queue(tx, None, &Chat::new(NAME, place), vec![edit], Delivery::Push, Some(run)).map(drop)
}
