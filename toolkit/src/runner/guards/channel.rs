//! The tool works in the session of the call: one that acts on a chat needs a chat of its channel, and the
//! supervisor, and so does one that asks people.

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard};
use crate::runner::call::PendingCall;

pub(super) struct OfChannel;

impl Guard for OfChannel {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let Ok(tool) = &call.tool else { return Ok(()).into() };
        let channels = tool.channels();
        if channels.is_empty() && !call.asks_question() {
            return Ok(()).into();
        }
        let (name, session) = (&call.info.tool, &call.info.ids.session);
        if !tool.is_offered() {
            let message = format!("`{name}` needs the supervisor, and this tool server runs without one.");
            let hint = "Continue without it. The operator can start the tool server with `supervisor run`.";
            return Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)).into();
        }
        if tool.works_in(session.channel()) {
            return Ok(()).into();
        }
        let channels = channels.join(" or ");
        let message =
            format!("`{name}` works in chats of {channels} only, and this is the session {session}.");
        let hint = "Continue without it: the reply reaches the user in this chat.";
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)).into()
    }
}
