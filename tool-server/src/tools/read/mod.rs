//! `read`: a file by lines or by bytes.
//!
//! Whatever part is shown, the session then has the fingerprint of the whole file. A file up to the edit
//! limit is read whole, hashed and counted; of a larger one only the shown part is read.

mod bytes;
mod lines;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use files::change::{io_error, mtime_ms, read_whole, size_and_mtime, size_bytes};
use files::roots::{Opened, names};
use protocol::hash::sha256;
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use rustix::fs::{Stat, fstat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Fingerprint, Outcome, PathText, Seen, Slot, Success, Tool};

use crate::text::{Kind, kind_of};
use crate::tool_context::{ToolContext, touches_its_path};

/// How much of a large file is read to detect its type.
const HEAD_BYTES: usize = 64 * 1024;

const MAX_IMAGE_BYTES: usize = 4 * 1024 * 1024;

/// Reads a text file by lines, each with its number and a tab.
///
/// `offset` or `limit_bytes` reads any file by bytes instead.
///
/// # Details
///
/// A page has 500 lines unless `limit` says otherwise; the answer has the total number of lines and the next
/// `start_line`. Bytes are shown as text if they are UTF-8, else as base64. An image is returned as base64 in
/// `data`. Other binary files can only be read by bytes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    /// The file, absolute or relative to the first root.
    path: PathText,
    /// The first line, from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Lines per page; default 500.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<usize>,
    /// The first byte to show, from 0; reads bytes instead of lines.
    #[serde(default)]
    #[schemars(range(min = 0))]
    offset: Option<u64>,
    /// The maximum number of bytes; reads bytes instead of lines.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_048_576))]
    limit_bytes: Option<usize>,
    /// Whether each line begins with its number and a tab.
    #[serde(default = "super::yes")]
    line_numbers: bool,
    /// The `next_page_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

/// What was read, and of which file.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ReadData {
    /// The size of the whole file, in bytes.
    file_size_bytes: u64,
    /// When the file last changed, in milliseconds since the Unix epoch.
    file_mtime_ms: i64,
    /// The SHA-256 of the whole file, in hex; absent when it is larger than the edit limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// How many lines the whole file has; absent when it is larger than the edit limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// The first line shown; absent when no line is.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    /// The last line shown; absent when no line is.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// The first byte shown, from 0; absent when lines are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// How many bytes are shown; absent when lines are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The encoding of the file; `base64` where `stdout` is base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    /// The media type of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'static str>,
    /// An image, as base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

pub(crate) struct Read(pub(super) ToolContext);

impl Tool for Read {
    type Arguments = ReadArguments;
    type Data = ReadData;
    const NAME: &'static str = "read";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["start_line", "limit"];
    const QUICK: bool = true;

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt"})
    }

    touches_its_path!();

    fn run(&self, arguments: ReadArguments, call: &Call) -> Outcome<ReadData> {
        let by_bytes = arguments.offset.is_some() || arguments.limit_bytes.is_some();
        if by_bytes
            && (arguments.start_line.is_some() || arguments.limit.is_some() || arguments.cursor.is_some())
        {
            let message = "Read by lines (`start_line`, `limit`, `cursor`) or by bytes (`offset`, \
             `limit_bytes`), not both.";
            return Err(invalid(message).into());
        }
        let file = ReadFile::open(&self.0, call, &arguments.path)?;
        let mut output = match file.kind()? {
            _ if by_bytes => bytes::read(&file, &arguments, call)?,
            Kind::Text(encoding) => lines::read(&file, encoding, &arguments, call)?,
            Kind::Image(media_type) => image(&file, media_type)?,
            Kind::Binary(what) => {
                let message = format!("The file {:?} is {what}, not text.", arguments.path);
                return Err(ToolError::new(ErrorCode::BinaryFile, message).into());
            }
        };
        output.data.file_size_bytes = file.size_bytes();
        output.data.file_mtime_ms = mtime_ms(&file.stat);
        output.path_resolved = Some(file.shown());
        output.untrusted = self.0.is_from_outside(&file.opened.path);
        let fingerprint = match &file.content {
            Some(content) => {
                let hash = sha256(content);
                output.data.sha256 = Some(hash.clone());
                Fingerprint::Sha256(hash)
            }
            None => size_and_mtime(&file.stat),
        };
        output.seen = Some(Seen { path: file.opened.path, fingerprint: Some(fingerprint) });
        Ok(output)
    }
}

/// An open file, with its content when it is small enough.
struct ReadFile<'a> {
    path: &'a str,
    opened: Opened,
    stat: Stat,
    content: Option<Vec<u8>>,
}

impl<'a> ReadFile<'a> {
    fn open(context: &ToolContext, call: &Call, path: &'a str) -> Result<Self, ToolError> {
        let opened = context.workspaces.of(&call.scope)?.open_file(path)?;
        let failed = |error: std::io::Error| io_error(path, "read", &error);
        let stat = fstat(&opened.handle).map_err(|errno| failed(errno.into()))?;
        let content = read_whole(&opened.handle, context.max_edit_bytes).map_err(failed)?;
        Ok(Self { path, opened, stat, content })
    }

    fn size_bytes(&self) -> u64 {
        match &self.content {
            Some(content) => u64::try_from(content.len()).unwrap_or(u64::MAX),
            None => size_bytes(&self.stat),
        }
    }

    fn shown(&self) -> String {
        names::path_to_text(&self.opened.path)
    }

    fn kind(&self) -> Result<Kind, ToolError> {
        match &self.content {
            Some(content) => Ok(kind_of(content, true)),
            None => Ok(kind_of(&self.part(0, HEAD_BYTES)?, false)),
        }
    }

    /// At most `length` bytes from an offset on; fewer only at the end of the file.
    fn part(&self, offset: u64, length: usize) -> Result<Vec<u8>, ToolError> {
        let mut part = vec![0; length];
        let mut filled = 0;
        while filled < length {
            let at = offset + u64::try_from(filled).unwrap_or(0);
            match rustix::io::pread(&self.opened.handle, &mut part[filled..], at) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(io_error(self.path, "read", &errno.into())),
            }
        }
        part.truncate(filled);
        Ok(part)
    }
}

fn image(file: &ReadFile<'_>, media_type: &'static str) -> Result<Success<ReadData>, ToolError> {
    let content =
        file.content.as_deref().filter(|content| content.len() <= MAX_IMAGE_BYTES).ok_or_else(|| {
            let message =
                format!("The image has {} bytes; the limit is {MAX_IMAGE_BYTES}.", file.size_bytes());
            ToolError::new(ErrorCode::FileTooLarge, message)
        })?;
    let data = ReadData {
        media_type: Some(media_type),
        base64: Some(STANDARD.encode(content)),
        ..ReadData::default()
    };
    Ok(Success {
        stdout: format!("{media_type}, {} bytes; the image is in data.base64\n", content.len()),
        data,
        ..Success::default()
    })
}
