//! `/cancel` and `/cancel all`.

use channel::Chat;
use rusqlite::Connection;
use store::StoreError;
use store::cancel::{self, InChat};

use super::shortened;

/// How many messages an answer names.
const MAX_NAMED: usize = 3;

pub(super) const USAGE: &str = "/cancel stops what I am doing, or else cancels the newest waiting message. \
                                /cancel all stops everything.";

pub(super) fn carry_out(connection: &Connection, chat: &Chat, all: bool) -> Result<String, StoreError> {
    Ok(in_words(&cancel::in_chat(connection, chat, all, chat.channel.as_str())?))
}

fn in_words(done: &InChat) -> String {
    let stopped = match (done.running, done.parked) {
        (true, _) => Some("I am stopping what I was doing.".to_owned()),
        (false, true) => Some("I have stopped what waited for a decision.".to_owned()),
        (false, false) => None,
    };
    let cancelled = match done.queued.as_slice() {
        [] => None,
        [one] => Some(format!("1 waiting message is cancelled: {}.", shortened(one))),
        many => Some(format!("{} waiting messages are cancelled: {}.", many.len(), named(many))),
    };
    let left = match done.left.as_slice() {
        [] => None,
        [one] => Some(format!("1 message still waits: {}. /stop all cancels it, too.", shortened(one))),
        many => {
            Some(format!("{} messages still wait: {}. /stop all cancels them, too.", many.len(), named(many)))
        }
    };
    let done: Vec<String> = [stopped, cancelled, left].into_iter().flatten().collect();
    if done.is_empty() { "There is nothing to cancel.".to_owned() } else { done.join("\n") }
}

/// The newest of these texts, the newest first.
fn named(texts: &[String]) -> String {
    let mut named: Vec<String> = texts.iter().take(MAX_NAMED).map(|text| shortened(text)).collect();
    if texts.len() > MAX_NAMED {
        named.push("…".to_owned());
    }
    named.join(", ")
}
