//! The tools that a model has in Telegram chats, and nowhere else.

mod elsewhere;
mod language;
mod react;
mod reactions;
mod send_file;
mod send_voice;

use protocol::{SessionId, ToolError};
use toolkit::arguments::invalid;
use toolkit::{Call, Registry, RegistryError};

use super::NAME;
use crate::channel_tools::sending::Sending;
use crate::tool_files::ToolFiles;

/// All of them: a new one gets its line here.
pub(crate) fn registry(sending: &Sending, files: &ToolFiles) -> Result<Registry, RegistryError> {
    Registry::new()
        .with(react::React(sending.clone()))?
        .with(send_file::SendFile { sending: sending.clone(), files: files.clone() })?
        .with(send_voice::SendVoice { sending: sending.clone(), files: files.clone() })
}

/// The chat that the call is for: the one that it names, or its own.
fn chat_of(call: &Call, named: Option<i64>) -> Result<String, ToolError> {
    match (named, own_chat(&call.session)) {
        (Some(chat), _) => Ok(chat.to_string()),
        (None, Some(own)) => Ok(own.to_owned()),
        (None, None) => Err(invalid("`chat_id` is missing: the session is no Telegram chat.")),
    }
}

/// The chat of a session, if it is one of this channel.
fn own_chat(session: &SessionId) -> Option<&str> {
    session.as_str().strip_prefix(NAME.as_str())?.strip_prefix(':')
}
