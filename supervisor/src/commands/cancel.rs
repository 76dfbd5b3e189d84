//! `/cancel` and `/cancel all`.

use channel::Chat;
use rusqlite::Connection;
use store::StoreError;
use store::cancel::{self, InChat};

pub(super) const USAGE: &str = "/cancel stops what I am doing, or else cancels the newest waiting message. \
                                /cancel all stops everything.";

pub(super) fn carry_out(connection: &Connection, chat: &Chat, all: bool) -> Result<String, StoreError> {
    Ok(in_words(cancel::in_chat(connection, chat, all, chat.channel.as_str())?))
}

fn in_words(done: InChat) -> String {
    let waiting = match done.queued {
        0 => None,
        1 => Some("1 waiting message is cancelled.".to_owned()),
        many => Some(format!("{many} waiting messages are cancelled.")),
    };
    let stopped = match (done.running, done.parked) {
        (true, _) => Some("I am stopping what I was doing"),
        (false, true) => Some("I have stopped what waited for a decision"),
        (false, false) => None,
    };
    match (stopped, waiting) {
        (None, None) => "There is nothing to cancel.".to_owned(),
        (None, Some(waiting)) => waiting,
        (Some(stopped), None) => format!("{stopped}."),
        (Some(stopped), Some(waiting)) => format!("{stopped}, and {waiting}"),
    }
}
