//! A chat that may not use the bot: it gets a code, and the owner of the bot is asked in private. Few
//! questions are open at a time, behind every answer, so that a crowd of strangers delays none.

use channel::content::Button;
use channel::formatting::FormattedText;
use channel::{Chat, Content, Delivery};
use protocol::{EventId, MessageId};
use rusqlite::{Connection, Transaction};
use store::pairing::{self, MAX_QUESTIONS};
use store::{StoreError, outbox};

const ALLOW: &str = "pair:allow:";
const IGNORE: &str = "pair:ignore:";
/// How many of those that wait are named.
const MAX_NAMED: usize = 10;
const TOO_LATE: &str = "This code was used, or it has expired.";

/// What the owner has decided about the chat with this code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    allows: bool,
    code: String,
}

/// An unknown chat has written: it gets a code, and the owner is asked, unless that was a short time ago.
/// While the owner has as many questions open as are allowed, it waits.
pub(crate) fn wrote(
    tx: &Transaction<'_>,
    chat: &Chat,
    title: &str,
    owner: Option<&str>,
    run: &EventId,
) -> Result<Option<String>, StoreError> {
    // What can be allowed is the whole chat.
    let chat = &chat.whole();
    let Some(owner) = owner.map(|owner| Chat::new(chat.channel.clone(), owner)) else {
        return Ok(pairing::give_code(tx, chat, title)?.map(|code| refusal(chat, title, &code)));
    };
    ask_next(tx, &owner, run)?;
    if i64::try_from(pairing::asked(tx, &chat.channel)?.len()).is_ok_and(|open| open < MAX_QUESTIONS) {
        let Some(code) = pairing::give_code(tx, chat, title)? else { return Ok(None) };
        ask(tx, &owner, (chat, title, &code), run)?;
        return Ok(Some(refusal(chat, title, &code)));
    }
    pairing::wait(tx, chat, title)?;
    pairing::tell_how_many(tx, &owner, how_many, run)?;
    Ok(None)
}

/// Gives codes to the chats that wait, as many as the owner can be asked about.
pub(crate) fn ask_next(tx: &Transaction<'_>, owner: &Chat, run: &EventId) -> Result<(), StoreError> {
    while let Some((chat, title)) = pairing::next_stranger(tx, &owner.channel)? {
        let Some(code) = pairing::give_code(tx, &chat, &title)? else { continue };
        ask(tx, owner, (&chat, &title, &code), run)?;
        let content = vec![Content::Text(refusal(&chat, &title, &code))];
        outbox::queue(tx, None, &chat, content, Delivery::Push, Some(run))?;
    }
    Ok(())
}

/// What the owner reads who asks for it, and the questions that are open once more.
pub(crate) fn list(tx: &Connection, owner: &Chat, run: &EventId) -> Result<String, StoreError> {
    let (open, waiting) =
        (pairing::asked(tx, &owner.channel)?, pairing::waiting_strangers(tx, &owner.channel)?);
    for known in &open {
        outbox::queue_notice(tx, owner, question(&known.chat, &known.title, &known.note), 0, run)?;
    }
    let asks = match open.as_slice() {
        [] => return Ok("No stranger waits for an answer.".to_owned()),
        [one] => format!("{} wants to use this bot.", one.title),
        many => format!("{} chats want to use this bot.", many.len()),
    };
    let mut text = format!("{asks} The buttons come below.");
    if !waiting.is_empty() {
        let names = waiting.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if waiting.len() > MAX_NAMED { " and others" } else { "" };
        text.push_str(&format!("\n{} more wait until you have answered: {names}{more}.", waiting.len()));
    }
    Ok(text)
}

fn ask(
    tx: &Transaction<'_>,
    owner: &Chat,
    (chat, title, code): (&Chat, &str, &str),
    run: &EventId,
) -> Result<(), StoreError> {
    pairing::set_asked(tx, code, true)?;
    outbox::queue_notice(tx, owner, question(chat, title, code), 0, run).map(drop)
}

fn how_many(count: i64) -> String {
    let strangers = if count == 1 { "1 more stranger".to_owned() } else { format!("{count} more strangers") };
    format!("{strangers} wrote to this bot. /pairings shows who waits.")
}

fn refusal(chat: &Chat, title: &str, code: &str) -> String {
    tracing::warn!(chat_id = chat.id, title, code, "a chat that is not allowed wrote to the bot");
    format!(
        "This bot does not work for this chat yet. Its operator can allow it within an hour: \
         supervisor pair {code}\n\nThe ID of this chat is {}.",
        chat.id
    )
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
    pub(crate) fn of(data: &str) -> Option<Self> {
        let (allows, code) = match (data.strip_prefix(ALLOW), data.strip_prefix(IGNORE)) {
            (Some(code), _) => (true, code),
            (None, code) => (false, code?),
        };
        Some(Self { allows, code: code.to_owned() })
    }

    /// Carries it out, and replaces the question and its buttons by what was decided. Returns the answer
    /// to the press, and the chat that may use the bot from now on.
    pub(crate) fn carry_out(
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
        pairing::set_asked(tx, &self.code, false)?;
        ask_next(tx, &chat.whole(), run)?;
        // An edit without buttons removes them.
        let edit = vec![Content::Edit { message_id, text: told }];
        outbox::queue(tx, None, chat, edit, Delivery::Push, Some(run))?;
        Ok((answer.to_owned(), paired))
    }
}
