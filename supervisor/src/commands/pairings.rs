//! `/pairings`: the strangers who want to use the bot, for its owner.

use channel::Chat;
use rusqlite::Connection;
use store::{StoreError, pairing};

use super::Context;
use crate::strangers;

const OWNER_ALONE: &str = "Only the owner of this bot decides who may use it.";

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    if !context.is_owner {
        return Ok(OWNER_ALONE.to_owned());
    }
    let sender = context.origin.and_then(|origin| origin.from.as_ref());
    match sender {
        // Buttons go to the owner in private.
        Some(sender) => {
            let owner = Chat::new(context.chat.channel.clone(), sender.id.as_str());
            strangers::list(connection, &owner, context.run)
        }
        None => in_terminal(connection),
    }
}

/// A terminal has no buttons, and shows the strangers of all channels.
fn in_terminal(connection: &Connection) -> Result<String, StoreError> {
    let open = pairing::waiting(connection)?;
    let line = |known: &pairing::KnownChat| {
        format!(
            "{} (chat {} of {}): supervisor pair {}",
            known.title, known.chat.id, known.chat.channel, known.note
        )
    };
    Ok(match open.as_slice() {
        [] => "No stranger waits for an answer.".to_owned(),
        open => open.iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}
