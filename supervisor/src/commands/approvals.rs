//! `/approvals`: the calls that wait for a decision in this chat, with their buttons.

use channel::Delivery;
use store::sql::Connection;
use store::{StoreError, approvals};
use texts::Text;

use super::{Context, counted};

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    if context.delivery != Delivery::Push {
        return Ok(Text::ApprovalsInTerminal.to(context.language));
    }
    let text = match approvals::ask_again(connection, context.chat, context.run)? {
        0 => Text::NoApprovals,
        count => Text::ApprovalsComeAgain { count: counted(count) },
    };
    Ok(text.to(context.language))
}
