//! `/approvals`: the calls that wait for a decision in this chat, with their buttons.

use channel::Delivery;
use rusqlite::Connection;
use store::{StoreError, approvals};

use super::Context;

const IN_TERMINAL: &str = "`supervisor approvals` lists the calls that wait for a decision; \
                           `supervisor approve` and `supervisor deny` decide.";

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    if context.delivery != Delivery::Push {
        return Ok(IN_TERMINAL.to_owned());
    }
    Ok(match approvals::ask_again(connection, context.chat, context.run)? {
        0 => "No call waits for a decision in this chat.".to_owned(),
        1 => "1 call waits for a decision; it comes once more with its buttons.".to_owned(),
        many => format!("{many} calls wait for a decision; they come once more with their buttons."),
    })
}
