//! `/retry`: runs the newest message of the chat again that failed or was skipped.

use store::sql::Connection;
use store::{StoreError, requeue};
use texts::Text;

use super::{Context, shortened};

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    let Context { chat, run, language, .. } = *context;
    Ok(match requeue::newest_in_chat(connection, chat, chat.channel.as_str(), run)? {
        Some(text) => Text::RetryRunning { text: &shortened(&text, language) }.to(language),
        None => Text::RetryNothing.to(language),
    })
}
