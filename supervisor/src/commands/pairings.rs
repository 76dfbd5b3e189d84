//! `/pairings`: the strangers who want to use the bot, for its owner.

use channel::Chat;
use store::sql::Connection;
use store::{StoreError, pairing};
use texts::{Language, Text};

use super::Context;
use crate::strangers;

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    if !context.is_owner {
        return Ok(Text::PairingsOwnerAlone.to(context.language));
    }
    let sender = context.origin.and_then(|origin| origin.from.as_ref());
    match sender {
        // Buttons go to the owner in private.
        Some(sender) => {
            let owner = Chat::new(context.chat.channel.clone(), sender.id.as_str());
            strangers::list(connection, &owner, context.run)
        }
        None => in_terminal(connection, context.language),
    }
}

/// A terminal has no buttons, and shows the strangers of all channels.
fn in_terminal(connection: &Connection, language: Language) -> Result<String, StoreError> {
    let open = pairing::waiting(connection)?;
    let line = |known: &pairing::KnownChat| {
        let (chat, channel) = (&known.chat.id, known.chat.channel.as_str());
        Text::PairingInTerminal { title: &known.title, chat, channel, code: &known.note }.to(language)
    };
    Ok(match open.as_slice() {
        [] => Text::NoStranger.to(language),
        open => open.iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}
