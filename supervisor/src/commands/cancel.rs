//! `/cancel` and `/cancel all`.

use store::StoreError;
use store::cancel::{self, InChat};
use store::sql::Connection;
use texts::{Language, Text};

use super::{Context, counted, shortened};

/// How many messages an answer names.
const MAX_NAMED: usize = 3;

pub(super) fn carry_out(
    connection: &Connection,
    context: &Context<'_>,
    all: bool,
) -> Result<String, StoreError> {
    let chat = context.chat;
    Ok(in_words(&cancel::in_chat(connection, chat, all, chat.channel.as_str())?, context.language))
}

fn in_words(done: &InChat, language: Language) -> String {
    let stopped = match (done.running, done.parked) {
        (true, _) => Some(Text::CancelStopping),
        (false, true) => Some(Text::CancelStoppedParked),
        (false, false) => None,
    };
    let (cancelled, left) = (named(&done.queued, language), named(&done.left, language));
    let cancelled = cancelled.as_ref().map(|(count, texts)| Text::CancelledWaiting { count: *count, texts });
    let left = left.as_ref().map(|(count, texts)| Text::StillWaiting { count: *count, texts });
    let done: Vec<String> =
        [stopped, cancelled, left].into_iter().flatten().map(|text| text.to(language)).collect();
    if done.is_empty() { Text::NothingToCancel.to(language) } else { done.join("\n") }
}

/// How many texts there are, and the newest of them, the newest first; none without any.
fn named(texts: &[String], language: Language) -> Option<(i64, String)> {
    let mut named: Vec<String> = texts.iter().take(MAX_NAMED).map(|text| shortened(text, language)).collect();
    if texts.len() > MAX_NAMED {
        named.push("…".to_owned());
    }
    (!texts.is_empty()).then(|| (counted(texts.len()), named.join(", ")))
}
