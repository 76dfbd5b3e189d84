//! `telegram_send_file`: files of the roots, shown as what they are, several as albums.
//!
//! The supervisor copies the bytes with the call, so the chat gets the files as they were then, whatever
//! happens to them.

use protocol::effect::FileForm;
use protocol::{Annotations, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, NamedFiles, Outcome, PathText, Scope, Slot, Success, Tool};

use crate::outgoing::{OpenedFile, PUSHED, chat_of, id_of, require_sum, valid_name, with_archive};
use crate::tool_context::ToolContext;

/// Sends a file to the chat: pictures, videos and music as such, all else as a document.
///
/// # Details
///
/// A regular file beneath the roots, at most 50 MB. Its bytes say what it is, not its name: JPEG, PNG and
/// WebP are photos (of at most 10 MB, width and height together at most 10000, and at most 20 to 1), MPEG-4
/// is a video, MP3 and M4A are audio, and all else is a document; so is what Telegram refuses to show. The
/// chat gets it as it is at the time of the call. It is sent in order with the other messages, and again
/// after a failure. With `more_paths`, all files are sent, or none if one cannot be; together they have at
/// most 100 MB. Those that follow each other and that Telegram shows together are an album of at most 10
/// files and 50 MB: photos with videos, audio with audio, documents with documents. If Telegram refuses an
/// album, its files come one after the other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendFileArguments {
    /// The file, absolute or relative to the first root.
    path: PathText,
    /// Up to 9 more files, which come with it as an album.
    #[serde(default)]
    #[schemars(length(max = 9))]
    more_paths: Vec<PathText>,
    /// The name that the chat sees; its own by default.
    #[serde(default)]
    filename: Option<String>,
    /// A text below the (first) file in Markdown, at most 1024 characters.
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
    /// The number of the first file at the outbox of the control port; those of the others follow it.
    outbox_id: i64,
    /// The chat that gets them.
    chat_id: String,
    /// The files, in order.
    files: Vec<SentFile>,
}

/// A file that was queued.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SentFile {
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
    const CHANNELS: &'static [&'static str] = PUSHED;
    const ESSENTIAL: &'static [&'static str] = &["caption"];

    fn example(&self) -> Value {
        json!({"path": "hello.txt", "caption": "Here it is."})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.0.touches_outgoing(arguments, scope)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        self.0.preview_outgoing(arguments, call)
    }

    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        self.0.named_outgoing(arguments, scope)
    }

    fn run(&self, arguments: SendFileArguments, call: &Call) -> Outcome<SendFileData> {
        let SendFileArguments { path, more_paths, filename, caption, as_document, chat_id } = arguments;
        let chat = chat_of(&call.scope, chat_id)?;
        let mut filename = filename.map(valid_name).transpose()?;
        let mut files = Vec::new();
        for path in [path].into_iter().chain(more_paths) {
            let file = self.0.outgoing_file(&path, call).map_err(|error| with_archive(error, &path))?;
            let form = if as_document { FileForm::Document } else { file.form(&path)? };
            let own_name = || path.rsplit('/').next().unwrap_or(&path).to_owned();
            files.push((file, form, filename.take().unwrap_or_else(own_name)));
        }
        require_sum(files.iter().map(|(file, ..)| file))?;
        let outbox_id = self.0.send_files(call, &chat, &caption, &files)?;
        let files: Vec<SentFile> = files.into_iter().map(SentFile::from).collect();
        let (stdout, chat_id) = (in_words(&files), id_of(&chat).to_owned());
        let data = SendFileData { outbox_id, chat_id, files };
        Ok(Success { stdout, data, ..Success::default() })
    }
}

fn in_words(sent: &[SentFile]) -> String {
    match sent {
        [SentFile { filename, size_bytes, sent_as }] => {
            format!("{filename} ({size_bytes} bytes) is on its way to the chat, as {sent_as}.\n")
        }
        several => {
            let each = several.iter().map(|SentFile { filename, size_bytes, sent_as }| {
                format!("{filename} ({size_bytes} bytes, {sent_as})\n")
            });
            let each: String = each.collect();
            format!("{each}These {} files are on their way to the chat.\n", several.len())
        }
    }
}

impl From<(OpenedFile, FileForm, String)> for SentFile {
    fn from((OpenedFile { size_bytes, .. }, form, filename): (OpenedFile, FileForm, String)) -> Self {
        let sent_as = match form {
            FileForm::Document | FileForm::Voice => "document",
            FileForm::Photo => "photo",
            FileForm::Video => "video",
            FileForm::Audio => "audio",
        };
        Self { filename, size_bytes, sent_as: sent_as.to_owned() }
    }
}
