//! `telegram_send_file`: a file of the roots, shown as what it is.
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

/// Sends a file to the chat: pictures, videos and music as such, all else as a document.
///
/// # Details
///
/// A regular file beneath the roots, at most 50 MB. Its bytes say what it is, not its name: JPEG, PNG and
/// WebP are photos (of at most 10 MB, width and height together at most 10000, and at most 20 to 1), MPEG-4
/// is a video, MP3 and M4A are audio, and all else is a document; so is what Telegram refuses to show. The
/// chat gets it as it is at the time of the call. It is sent in order with the other messages, and again
/// after a failure.
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
    /// Send it as a document, byte by byte: Telegram makes photos smaller.
    #[serde(default)]
    as_document: bool,
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
    /// What the chat sees: a `photo`, `video`, `audio` or `document`.
    sent_as: String,
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
        let SendFileArguments { path, filename, caption, as_document, chat_id } = arguments;
        let chat = chat_of(&call.session, chat_id)?;
        let filename = match filename {
            Some(name) => valid_name(name)?,
            None => path.rsplit('/').next().unwrap_or(&path).to_owned(),
        };
        let file = self.0.outgoing_file(&path, call).map_err(|error| with_archive(error, &path))?;
        let size_bytes = file.size_bytes;
        let form = if as_document { FileForm::Document } else { file.form(&path)? };
        let outbox_id = self.0.send_file(call, &chat, &file, (form, &filename, &caption))?;
        let sent_as = match form {
            FileForm::Document | FileForm::Voice => "document",
            FileForm::Photo => "photo",
            FileForm::Video => "video",
            FileForm::Audio => "audio",
        };
        let stdout = format!("{filename} ({size_bytes} bytes) is on its way to the chat, as {sent_as}.\n");
        let (chat_id, sent_as) = (id_of(&chat).to_owned(), sent_as.to_owned());
        let data = SendFileData { outbox_id, chat_id, filename, size_bytes, sent_as };
        Ok(Success { stdout, data, ..Success::default() })
    }
}
