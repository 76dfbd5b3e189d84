//! `telegram_send_file`: a file of the roots as a document.
//!
//! The bytes go into the outbox with the call, so the chat gets the file as it was then, whatever happens to
//! it.

use std::collections::BTreeMap;

use protocol::{Annotations, ErrorCode, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{chat_of, elsewhere};
use crate::channel::Content;
use crate::channel::content::{File, FileBody};
use crate::channel_tools::sending::Sending;
use crate::channels::telegram::{NAME, split};
use crate::tool_files::ToolFiles;

const MAX_NAME_BYTES: usize = 255;

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

pub(super) struct SendFile {
    pub(super) sending: Sending,
    pub(super) files: ToolFiles,
}

impl Tool for SendFile {
    type Arguments = SendFileArguments;
    type Data = SendFileData;
    const NAME: &'static str = "telegram_send_file";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["caption"];

    fn example(&self) -> Value {
        json!({"path": "hello.txt", "caption": "Here it is."})
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        elsewhere::touches(arguments, session)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        elsewhere::preview(&self.sending, Some(&self.files), arguments, call)
    }

    fn named_files(
        &self,
        arguments: &Value,
        session: &SessionId,
    ) -> Result<BTreeMap<String, String>, ToolError> {
        elsewhere::named_file(&self.files, arguments, session)
    }

    fn run(&self, arguments: SendFileArguments, call: &Call) -> Outcome<SendFileData> {
        let SendFileArguments { path, filename, caption, chat_id } = arguments;
        let chat_id = chat_of(call, chat_id)?;
        let filename = match filename {
            Some(name) => valid_name(name)?,
            None => path.rsplit('/').next().unwrap_or(&path).to_owned(),
        };
        let stored =
            self.sending.fetch(&self.files, call, &path).map_err(|error| with_archive(error, &path))?;
        let size_bytes = stored.size_bytes;
        let body = FileBody::Stored(stored);
        let caption = split::caption(&caption);
        let content = Content::Document(File { name: filename.clone(), caption, body });
        let outbox_id = self.sending.queue(call, &NAME, &chat_id, content)?;
        let stdout = format!("{filename} ({size_bytes} bytes) is on its way to the chat.\n");
        let data = SendFileData { outbox_id, chat_id, filename, size_bytes };
        Ok(Success { stdout, data, ..Success::default() })
    }
}

pub(super) fn valid_name(name: String) -> Result<String, ToolError> {
    let is_bad = |character: char| character == '/' || character.is_control();
    if name.trim().is_empty() || name.len() > MAX_NAME_BYTES || name.contains(is_bad) {
        let rule =
            format!("`filename` must have 1 to {MAX_NAME_BYTES} bytes, without `/` and control characters.");
        return Err(invalid(rule));
    }
    Ok(name)
}

/// A directory can be sent as an archive.
fn with_archive(error: ToolError, path: &str) -> ToolError {
    if error.code != ErrorCode::IsDirectory {
        return error;
    }
    let cmd = json!({"cmd": format!("tar -czf archive.tar.gz -- '{}'", path.replace('\'', "'\\''"))});
    error.with_hint(format!("Make an archive with `bash` {cmd}, then send archive.tar.gz."))
}
