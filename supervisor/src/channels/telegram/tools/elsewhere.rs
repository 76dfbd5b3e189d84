//! What a rule and a person see of a call that names a chat and a file: whether the chat is another one than
//! its own, and what the file is now.

use std::collections::BTreeMap;

use protocol::{SessionId, ToolError};
use serde_json::Value;
use toolkit::Call;
use toolkit::policy::{Circumstance, Touches};

use super::{NAME, chat_of, own_chat};
use crate::channel::Chat;
use crate::channel_tools::sending::{Sending, wait};
use crate::tool_files::ToolFiles;

/// A topic is a part of its chat: the same people read it.
pub(super) fn touches(arguments: &Value, session: &SessionId) -> Touches {
    let own = own_chat(session).and_then(|own| own.split(':').next()?.parse::<i64>().ok());
    let is_elsewhere = arguments["chat_id"].as_i64().is_some_and(|named| Some(named) != own);
    if !is_elsewhere {
        return Touches::nothing();
    }
    let named = arguments["chat_id"].as_i64().map(|chat| Chat::new(NAME, chat.to_string()).address());
    Touches {
        circumstances: vec![Circumstance::OtherChat],
        recipients: named.into_iter().collect(),
        ..Touches::nothing()
    }
}

/// Where it goes, and the file; an error if either would be refused.
pub(super) fn preview(
    sending: &Sending,
    files: Option<&ToolFiles>,
    arguments: &Value,
    call: &Call,
) -> Result<String, ToolError> {
    let chat = chat_of(call, arguments["chat_id"].as_i64())?;
    sending.may_send(&NAME, &chat)?;
    let Some((files, path)) = files.zip(arguments["path"].as_str()) else {
        return Ok(format!("Goes to the chat {chat}."));
    };
    let file = wait(files.facts(path, &call.session))?;
    Ok(format!("{path} ({} bytes, SHA-256 {}) goes to the chat {chat}.", file.size_bytes, file.sha256))
}

/// The file that the call names, as it is now.
pub(super) fn named_file(
    files: &ToolFiles,
    arguments: &Value,
    session: &SessionId,
) -> Result<BTreeMap<String, String>, ToolError> {
    let Some(path) = arguments["path"].as_str() else { return Ok(BTreeMap::new()) };
    let file = wait(files.facts(path, session))?;
    Ok(BTreeMap::from([(path.to_owned(), file.sha256)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_chat_is_one_that_other_people_read() {
        for (session, chat, is_elsewhere) in [
            ("telegram:4711", json!(null), false),
            ("telegram:4711", json!(4711), false),
            ("telegram:4711", json!(12), true),
            ("telegram:-1001:12", json!(-1001), false),
            ("telegram:-1001:12", json!(12), true),
            ("telegram:-1001", json!(-1002), true),
            ("local:me", json!(12), true),
        ] {
            let touches = touches(&json!({"chat_id": chat}), &session.parse().unwrap());
            assert_eq!(touches.circumstances == [Circumstance::OtherChat], is_elsewhere, "{session} {chat}");
            let to = if is_elsewhere { vec![format!("telegram:{chat}")] } else { Vec::new() };
            assert_eq!(touches.recipients, to, "{session} {chat}");
        }
    }
}
