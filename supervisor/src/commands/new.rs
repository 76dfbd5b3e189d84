//! `/new`: the model forgets what was said in this chat; the events keep it.

use store::sql::Connection;
use store::{StoreError, conversation};
use texts::Text;

use super::Context;

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    conversation::begin(connection, context.chat)?;
    Ok(Text::NewBegun.to(context.language))
}
