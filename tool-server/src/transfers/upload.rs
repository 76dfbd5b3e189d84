//! `file_upload`: what `PUT /files` does. The body arrives while it runs, part by part.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use files::change::{ChangeData, Condition, UploadRequest, too_large};
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Scope, Slot, Tool, locked, names_no_files};

use super::no_attachment;
use crate::tool_context::ToolContext;

/// How many parts wait between the connection and the disk.
const WAITING_PARTS: usize = 4;

/// What an upload may take beside the time for its bytes: the body's own limit, and the disk.
const BESIDE_ITS_BYTES: Duration = Duration::from_secs(60);

/// Stores the body of a request as a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadArguments {
    /// The file, absolute or relative to the first root.
    path: String,
    /// The SHA-256 hashes of `If-Match`: the file must have one of them.
    #[serde(default)]
    if_match: Option<Vec<String>>,
    /// Whether `If-None-Match: *` was sent: there must be no file.
    #[serde(default)]
    if_none_match: bool,
    /// The length that the request declares.
    #[serde(default)]
    declared_bytes: Option<u64>,
}

/// The body of a request on its way from the connection to the disk.
#[derive(Debug)]
pub(crate) struct Upload(Mutex<mpsc::Receiver<Part>>);

/// What the connection gives.
#[derive(Debug)]
pub(crate) enum Part {
    Data(Bytes),
    /// The body is complete.
    End,
    /// It could not be read to its end.
    Failed(ToolError),
}

impl Upload {
    /// An upload, and where its parts go in.
    pub(crate) fn new() -> (Self, mpsc::Sender<Part>) {
        let (sender, receiver) = mpsc::channel(WAITING_PARTS);
        (Self(Mutex::new(receiver)), sender)
    }

    /// The next part; none at the end of a complete body.
    fn next(&self) -> Result<Option<Bytes>, ToolError> {
        match locked(&self.0).blocking_recv() {
            Some(Part::Data(bytes)) => Ok(Some(bytes)),
            Some(Part::End) => Ok(None),
            Some(Part::Failed(error)) => Err(error),
            None => {
                let message = "The caller went away before the whole file had arrived.";
                Err(ToolError::new(ErrorCode::Cancelled, message))
            }
        }
    }
}

pub(crate) struct FileUpload(pub(crate) ToolContext);

impl Tool for FileUpload {
    type Arguments = UploadArguments;
    type Data = ChangeData;
    const NAME: &'static str = "file_upload";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Transfer;

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt"})
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        let seconds = self.0.raw_files.max_upload_bytes / u64::from(http_port::SLOWEST_BYTES_PER_SECOND);
        Some(Duration::from_secs(seconds) + BESIDE_ITS_BYTES)
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.0.touches(arguments, scope)
    }

    names_no_files!();

    fn run(&self, arguments: UploadArguments, call: &Call) -> Outcome<ChangeData> {
        let upload = call.attachment::<Upload>().ok_or_else(no_attachment)?;
        let stored = self.store(&arguments, call, &upload);
        // The connection reads and discards the rest.
        locked(&upload.0).close();
        Ok(stored?)
    }
}

impl FileUpload {
    fn store(
        &self,
        arguments: &UploadArguments,
        call: &Call,
        upload: &Upload,
    ) -> Result<toolkit::Success<ChangeData>, ToolError> {
        self.0.raw_files.require()?;
        let max_bytes = self.0.raw_files.max_upload_bytes;
        if arguments.declared_bytes.is_some_and(|declared| declared > max_bytes) {
            return Err(too_large(max_bytes));
        }
        let condition = match &arguments.if_match {
            Some(hashes) => Condition::HasSha256(hashes),
            None if arguments.if_none_match => Condition::IsNew,
            None => Condition::SessionLock,
        };
        let request = UploadRequest { path: &arguments.path, condition, max_bytes };
        self.0.changer.store(call, &request, &mut || upload.next())
    }
}
