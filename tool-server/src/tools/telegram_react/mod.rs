//! `telegram_react`: an emoji on a message.

mod reactions;

use protocol::effect::{Answer, Ask};
use protocol::{Annotations, MessageId, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Scope, Slot, Success, Tool, names_no_files};

use crate::outgoing::{TELEGRAM, chat_of, id_of};
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;

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

pub(crate) struct TelegramReact(pub(super) ToolContext);

impl Tool for TelegramReact {
    type Arguments = ReactArguments;
    type Data = ReactData;
    const NAME: &'static str = "telegram_react";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    const CHANNELS: &'static [&'static str] = &[TELEGRAM];

    fn example(&self) -> Value {
        json!({"emoji": "👍"})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.0.touches_outgoing(arguments, scope)
    }

    names_no_files!();

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        self.0.preview_outgoing(arguments, call)
    }

    fn run(&self, arguments: ReactArguments, call: &Call) -> Outcome<ReactData> {
        let emoji = reactions::known(&arguments.emoji)?;
        let chat = chat_of(&call.scope, arguments.chat_id)?;
        let chat_id = id_of(&chat).to_owned();
        let message_id = arguments.message_id.map(MessageId::from);
        let ask = Ask::React { chat, message_id, emoji: emoji.clone(), is_big: arguments.is_big };
        let (outbox_id, message_id) = match self.0.supervisor()?.ask(call, ask)? {
            Answer::Queued { outbox_id, message_id: Some(message_id) } => (outbox_id, message_id),
            other => return Err(unexpected(&other).into()),
        };
        let stdout = format!("{emoji} is on its way to message {message_id}.\n");
        let message_id = message_id.as_str().parse().unwrap_or_default();
        let data = ReactData { outbox_id, chat_id, message_id, emoji };
        Ok(Success { stdout, data, ..Success::default() })
    }
}
