//! `telegram_send_file`: a file of the roots as a document.
//!
//! The supervisor copies the bytes with the call, so the chat gets the file as it was then, whatever happens
//! to it.

use protocol::effect::FileForm;
use protocol::{Annotations, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, NamedFiles, Outcome, Slot, Success, Tool};

use crate::outgoing::{TELEGRAM, chat_of, id_of, valid_name, with_archive};
use crate::tool_context::ToolContext;

/// Sends a file to the chat, as a document. Use it when the user should get the file itself.
///
/// # Details
///
/// A regular file beneath the roots, at most 20 MiB. The chat gets it as it is at the time of the call.
/// It is sent in order with the other messages, and again after a failure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendFileArguments {
    /// The file, absolute or relative to the first root.
    path: String,
    /// The name that the chat sees; its own by default.
    #[serde(default)]
    filename: Option<String>,
    /// A text below the file in Markdown, at most 1024 characters.
    #[serde(default)]
    caption: String,
    /// Another chat that the bot works for; this one by default.
    #[serde(default)]
    chat_id: Option<i64>,
}

/// What was queued.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SendFileData {
    /// Its number at the outbox of the control port.
    outbox_id: i64,
    /// The chat that gets it.
    chat_id: String,
    /// The name that the chat sees.
    filename: String,
    /// Its size.
    size_bytes: u64,
}

pub(crate) struct TelegramSendFile(pub(super) ToolContext);

impl Tool for TelegramSendFile {
    type Arguments = SendFileArguments;
    type Data = SendFileData;
    const NAME: &'static str = "telegram_send_file";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    const CHANNEL: Option<&'static str> = Some(TELEGRAM);
    const ESSENTIAL: &'static [&'static str] = &["caption"];

    fn example(&self) -> Value {
        json!({"path": "hello.txt", "caption": "Here it is."})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        self.0.touches_outgoing(arguments, session)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        self.0.preview_outgoing(arguments, call)
    }

    fn named_files(&self, arguments: &Value, session: &SessionId) -> Result<NamedFiles, ToolError> {
        self.0.named_outgoing(arguments, session)
    }

    fn run(&self, arguments: SendFileArguments, call: &Call) -> Outcome<SendFileData> {
        let SendFileArguments { path, filename, caption, chat_id } = arguments;
        let chat = chat_of(&call.session, chat_id)?;
        let filename = match filename {
            Some(name) => valid_name(name)?,
            None => path.rsplit('/').next().unwrap_or(&path).to_owned(),
        };
        let file = self.0.outgoing_file(&path, call).map_err(|error| with_archive(error, &path))?;
        let size_bytes = file.size_bytes;
        let outbox_id = self.0.send_file(call, &chat, &file, (FileForm::Document, &filename, &caption))?;
        let stdout = format!("{filename} ({size_bytes} bytes) is on its way to the chat.\n");
        let data = SendFileData { outbox_id, chat_id: id_of(&chat).to_owned(), filename, size_bytes };
        Ok(Success { stdout, data, ..Success::default() })
    }
}
