//! A chat that may not use the bot: it gets a code, and the owner of the bot is asked in private. Few
//! questions are open at a time, behind every answer, so that a crowd of strangers delays none.

use channel::content::Button;
use channel::formatting::FormattedText;
use channel::{Chat, Content, Delivery};
use protocol::{EventId, MessageId};
use store::pairing::{self, MAX_QUESTIONS};
use store::sql::Connection;
use store::{StoreError, languages, outbox};
use texts::{Language, Text};

const ALLOW: &str = "pair:allow:";
const IGNORE: &str = "pair:ignore:";
/// How many of those that wait are named.
const MAX_NAMED: usize = 10;

/// What the owner has decided about the chat with this code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    allows: bool,
    code: String,
}

/// An unknown chat has written: it gets a code, and the owner is asked, unless that was a short time ago.
/// While the owner has as many questions open as are allowed, it waits.
pub(crate) fn wrote(
    tx: &Connection,
    chat: &Chat,
    title: &str,
    owner: Option<&str>,
    run: &EventId,
) -> Result<Option<String>, StoreError> {
    // What can be allowed is the whole chat.
    let chat = &chat.whole();
    let Some(owner) = owner.map(|owner| Chat::new(chat.channel.clone(), owner)) else {
        let Some(code) = pairing::give_code(tx, chat, title)? else { return Ok(None) };
        return refusal(tx, chat, title, &code).map(Some);
    };
    ask_next(tx, &owner, run)?;
    if i64::try_from(pairing::asked(tx, &chat.channel)?.len()).is_ok_and(|open| open < MAX_QUESTIONS) {
        let Some(code) = pairing::give_code(tx, chat, title)? else { return Ok(None) };
        ask(tx, &owner, (chat, title, &code), run)?;
        return refusal(tx, chat, title, &code).map(Some);
    }
    pairing::wait(tx, chat, title)?;
    let language = languages::of(tx, &owner)?;
    let how_many = |count| Text::StrangersWrote { count }.to(language);
    pairing::tell_how_many(tx, &owner, how_many, run)?;
    Ok(None)
}

/// Gives codes to the chats that wait, as many as the owner can be asked about.
pub(crate) fn ask_next(tx: &Connection, owner: &Chat, run: &EventId) -> Result<(), StoreError> {
    while let Some((chat, title)) = pairing::next_stranger(tx, &owner.channel)? {
        let Some(code) = pairing::give_code(tx, &chat, &title)? else { continue };
        ask(tx, owner, (&chat, &title, &code), run)?;
        let content = vec![Content::Text(refusal(tx, &chat, &title, &code)?)];
        outbox::queue(tx, None, &chat, content, Delivery::Push, Some(run))?;
    }
    Ok(())
}

/// What the owner reads who asks for it, and the questions that are open once more.
pub(crate) fn list(tx: &Connection, owner: &Chat, run: &EventId) -> Result<String, StoreError> {
    let (open, waiting) =
        (pairing::asked(tx, &owner.channel)?, pairing::waiting_strangers(tx, &owner.channel)?);
    let language = languages::of(tx, owner)?;
    for known in &open {
        let question = question(&known.chat, &known.title, &known.note, language);
        outbox::queue_notice(tx, owner, question, 0, run)?;
    }
    let asks = match open.as_slice() {
        [] => return Ok(Text::NoStranger.to(language)),
        [one] => Text::StrangerWaits { title: &one.title },
        many => Text::StrangersWait { count: counted(many) },
    };
    let mut text = asks.to(language);
    if !waiting.is_empty() {
        let names = &waiting.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let count = counted(&waiting);
        let behind = if waiting.len() > MAX_NAMED {
            Text::StrangersBehindAndOthers { count, names }
        } else {
            Text::StrangersBehind { count, names }
        };
        text.push_str(&format!("\n{}", behind.to(language)));
    }
    Ok(text)
}

fn ask(
    tx: &Connection,
    owner: &Chat,
    (chat, title, code): (&Chat, &str, &str),
    run: &EventId,
) -> Result<(), StoreError> {
    pairing::set_asked(tx, code, true)?;
    let question = question(chat, title, code, languages::of(tx, owner)?);
    outbox::queue_notice(tx, owner, question, 0, run).map(drop)
}

fn counted<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

fn refusal(tx: &Connection, chat: &Chat, title: &str, code: &str) -> Result<String, StoreError> {
    tracing::warn!(chat_id = chat.id, title, code, "a chat that is not allowed wrote to the bot");
    Ok(Text::StrangerRefused { code, chat: &chat.id }.to(languages::of(tx, chat)?))
}

fn question(chat: &Chat, title: &str, code: &str, language: Language) -> Content {
    let text = Text::StrangerAsks { title, chat: &chat.id, code }.to(language);
    let button = |label: Text<'_>, prefix| Button::new(&label.to(language), format!("{prefix}{code}"));
    Content::Question {
        text: FormattedText { text, entities: Vec::new() },
        buttons: vec![vec![button(Text::ButtonAllow, ALLOW), button(Text::ButtonIgnore, IGNORE)]],
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
        tx: &Connection,
        (chat, message_id): (&Chat, MessageId),
        run: &EventId,
    ) -> Result<(String, Option<Chat>), StoreError> {
        let language = languages::of(tx, chat)?;
        let too_late = Text::CodeTooLate.to(language);
        let (answer, told, paired) = match pairing::waiting_with(tx, &self.code)? {
            None => (Text::CodeTooLate, too_late, None),
            Some(waits) => {
                let (title, id, code) = (waits.title.as_str(), waits.chat.id.as_str(), self.code.as_str());
                if self.allows {
                    let Some(known) = pairing::pair(tx, code, chat.channel.as_str(), run)? else {
                        return Ok((too_late, None));
                    };
                    pairing::welcome(tx, &known, Delivery::Push, run)?;
                    let told = Text::StrangerAllowed { title, chat: id }.to(language);
                    (Text::PressAllowed, told, Some(known.chat))
                } else {
                    let told = Text::StrangerIgnored { title, chat: id, code }.to(language);
                    (Text::PressIgnored, told, None)
                }
            }
        };
        pairing::set_asked(tx, &self.code, false)?;
        ask_next(tx, &chat.whole(), run)?;
        // An edit without buttons removes them.
        let edit = vec![Content::Edit { message_id, text: told }];
        outbox::queue(tx, None, chat, edit, Delivery::Push, Some(run))?;
        Ok((answer.to(language), paired))
    }
}
