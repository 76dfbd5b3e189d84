//! `telegram_react`: an emoji on a message.

use protocol::{Annotations, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{chat_of, elsewhere, reactions};
use crate::channel::Content;
use crate::channel_tools::sending::Sending;
use crate::channels::telegram::NAME;

/// Reacts to a message with an emoji, in place of the bot's reaction before.
///
/// # Details
///
/// Telegram takes the emoji of its own list only; an error names near ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReactArguments {
    /// One emoji, such as 👍, ❤, 🔥, 🎉, 👀 or 🤔.
    emoji: String,
    /// The message, by its number in the chat; the one that asked by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    message_id: Option<i64>,
    /// Whether it is shown with a big animation.
    #[serde(default)]
    is_big: bool,
    /// Another chat that the bot works for; this one by default.
    #[serde(default)]
    chat_id: Option<i64>,
}

/// What was queued.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ReactData {
    /// Its number at the outbox of the control port.
    outbox_id: i64,
    /// The chat.
    chat_id: String,
    /// The message.
    message_id: i64,
    /// The emoji as Telegram takes it.
    emoji: String,
}

pub(super) struct React(pub(super) Sending);

impl Tool for React {
    type Arguments = ReactArguments;
    type Data = ReactData;
    const NAME: &'static str = "telegram_react";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"emoji": "👍"})
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        elsewhere::touches(arguments, session)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        elsewhere::preview(&self.0, None, arguments, call)
    }

    fn run(&self, arguments: ReactArguments, call: &Call) -> Outcome<ReactData> {
        let ReactArguments { emoji, message_id, is_big, chat_id } = arguments;
        let emoji = reactions::known(&emoji)?;
        let is_elsewhere = chat_id.is_some();
        let chat_id = chat_of(call, chat_id)?;
        let asked_in = if is_elsewhere { None } else { self.0.asked_in(call)? };
        let Some(message_id) = message_id.or(asked_in.and_then(|id| id.as_str().parse().ok())) else {
            return Err(invalid("`message_id` is missing, and no message of this chat asked.").into());
        };
        let content = Content::Reaction { message_id: message_id.into(), emoji: emoji.clone(), is_big };
        let outbox_id = self.0.queue(call, &NAME, &chat_id, content)?;
        let stdout = format!("{emoji} is on its way to message {message_id}.\n");
        let data = ReactData { outbox_id, chat_id, message_id, emoji };
        Ok(Success { stdout, data, ..Success::default() })
    }
}
