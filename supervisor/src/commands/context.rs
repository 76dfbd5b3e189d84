//! `/context`: whether the model reads what a group wrote before somebody spoke to the bot.

use channel::Chat;
use store::sql::Connection;
use store::{StoreError, kv};
use texts::Text;

use super::{Context, counted};
use crate::overheard::MOST_MESSAGES;

/// Whether a group has allowed it.
pub(crate) fn is_on(connection: &Connection, chat: &Chat) -> Result<bool, StoreError> {
    Ok(kv::get(connection, &key(chat))?.is_some())
}

fn key(chat: &Chat) -> String {
    format!("context.{}", chat.whole().session().as_str())
}

/// `change` is none to say what holds.
pub(super) fn carry_out(
    connection: &Connection,
    context: &Context<'_>,
    change: Option<bool>,
) -> Result<String, StoreError> {
    let (chat, language) = (context.chat, context.language);
    if !context.access.is_group(&chat.id) {
        return Ok(Text::ContextGroupsAlone.to(language));
    }
    match change {
        Some(_) if !context.administers => return Ok(Text::ContextAdministratorsAlone.to(language)),
        Some(true) => kv::set(connection, &key(chat), "on")?,
        Some(false) => {
            kv::remove(connection, &key(chat))?;
            context.overheard.forget(chat);
        }
        None => {}
    }
    Ok(match is_on(connection, chat)? {
        true => Text::ContextOn { count: counted(MOST_MESSAGES) }.to(language),
        false => Text::ContextOff.to(language),
    })
}
