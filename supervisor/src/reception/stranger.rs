//! A chat that may not use the bot: it gets a code, and the owner of the bot is asked in private.

use channel::content::Button;
use channel::formatting::FormattedText;
use channel::{Chat, Content, Delivery};
use protocol::{EventId, MessageId};
use rusqlite::Transaction;
use store::{StoreError, outbox, pairing};

const ALLOW: &str = "pair:allow:";
const IGNORE: &str = "pair:ignore:";
const TOO_LATE: &str = "This code was used, or it has expired.";

/// What the owner has decided about the chat with this code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    allows: bool,
    code: String,
}

/// The message to an unknown chat, if it got none a short time ago. The owner is asked.
pub(super) fn refusal(
    tx: &Transaction<'_>,
    chat: &Chat,
    title: &str,
    owner: Option<&str>,
    run: &EventId,
) -> Result<Option<String>, StoreError> {
    // What can be allowed is the whole chat.
    let chat = &chat.whole();
    let Some(code) = pairing::give_code(tx, chat, title)? else { return Ok(None) };
    tracing::warn!(chat_id = chat.id, title, code, "a chat that is not allowed wrote to the bot");
    if let Some(owner) = owner {
        let question = vec![question(chat, title, &code)];
        let owner = Chat::new(chat.channel.clone(), owner);
        outbox::queue(tx, None, &owner, question, Delivery::Push, Some(run))?;
    }
    Ok(Some(format!(
        "This bot does not work for this chat yet. Its operator can allow it within an hour: \
         supervisor pair {code}\n\nThe ID of this chat is {}.",
        chat.id
    )))
}

fn question(chat: &Chat, title: &str, code: &str) -> Content {
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
        (chat, message_id): (&Chat, MessageId),
        run: &EventId,
    ) -> Result<(String, Option<Chat>), StoreError> {
        let (answer, told, paired) = match pairing::waiting_with(tx, &self.code)? {
            None => (TOO_LATE, TOO_LATE.to_owned(), None),
            Some(waits) => {
                let (who, code) = (format!("{} (chat ID {})", waits.title, waits.chat.id), &self.code);
                if self.allows {
                    let Some(known) = pairing::pair(tx, code, chat.channel.as_str(), run)? else {
                        return Ok((TOO_LATE.to_owned(), None));
                    };
                    pairing::welcome(tx, &known, Delivery::Push, run)?;
                    let id = &known.chat.id;
                    let told =
                        format!("{who} may use this bot now. `supervisor unpair {id}` takes that back.");
                    ("Allowed.", told, Some(known.chat))
                } else {
                    ("Ignored.", format!("{who} is ignored. `supervisor pair {code}` still allows it."), None)
                }
            }
        };
        // An edit without buttons removes them.
        let edit = vec![Content::Edit { message_id, text: told }];
        outbox::queue(tx, None, chat, edit, Delivery::Push, Some(run))?;
        Ok((answer.to_owned(), paired))
    }
}
