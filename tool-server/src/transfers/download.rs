//! `file_download`: what `GET` and `HEAD /files` do. It opens and hashes the file; the route sends its bytes.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::SystemTime;

use files::change::{hash_file, io_error, mtime_ms, size_and_mtime, size_bytes};
use files::roots::names;
use protocol::{Annotations, Risk, ToolError};
use rustix::fs::{Stat, fstat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Fingerprint, Outcome, Scope, Seen, Slot, Success, Tool, locked, names_no_files};

use super::no_attachment;
use crate::tool_context::ToolContext;

/// Opens a file whose bytes are sent as they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DownloadArguments {
    /// The file, absolute or relative to the first root.
    path: String,
    /// Whether only its metadata is wanted.
    #[serde(default)]
    head: bool,
    /// The `Range` of the request; the route decides what it means.
    #[serde(default)]
    #[expect(dead_code, reason = "it is there for the journal")]
    range: Option<String>,
}

/// What was opened.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct DownloadData {
    /// The size of the file, in bytes.
    file_size_bytes: u64,
    /// When it last changed, in milliseconds since the Unix epoch.
    file_mtime_ms: i64,
    /// Its SHA-256, in hex.
    sha256: String,
}

/// Where the tool leaves the open file for the route.
#[derive(Debug, Default)]
pub(crate) struct Download(Mutex<Option<OpenFile>>);

/// A file that was opened and hashed.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// As it was before it was hashed.
    pub(crate) stat: Stat,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
    /// The last part of its path.
    pub(crate) name: Vec<u8>,
}

impl Download {
    pub(crate) fn take(&self) -> Option<OpenFile> {
        locked(&self.0).take()
    }
}

pub(crate) struct FileDownload(pub(crate) ToolContext);

impl Tool for FileDownload {
    type Arguments = DownloadArguments;
    type Data = DownloadData;
    const NAME: &'static str = "file_download";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::Transfer;
    /// The tool on whose behalf it is done is.
    const BOUND_BY_SKILL: bool = false;

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt"})
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.0.touches(arguments, scope)
    }

    names_no_files!();

    fn run(&self, arguments: DownloadArguments, call: &Call) -> Outcome<DownloadData> {
        let download = call.attachment::<Download>().ok_or_else(no_attachment)?;
        self.0.raw_files.require()?;
        let path = &arguments.path;
        let opened = self.0.workspaces.of(&call.scope)?.open_file(path)?;
        let stat = fstat(&opened.handle).map_err(|errno| io_error(path, "read", &errno.into()))?;
        let (sha256, size_bytes) = self.hash(&opened.handle, &stat, path, call)?;
        let fingerprint = if size_bytes <= self.0.max_edit_bytes {
            Fingerprint::Sha256(sha256.clone())
        } else {
            size_and_mtime(&stat)
        };
        let shown = names::path_to_text(&opened.path);
        let data = DownloadData { file_size_bytes: size_bytes, file_mtime_ms: mtime_ms(&stat), sha256 };
        let name = opened.path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        // A caller that only asks for the hash has not seen the content.
        let seen = Seen { path: opened.path, fingerprint: Some(fingerprint) };
        let sha256 = data.sha256.clone();
        let file = OpenFile { file: opened.handle.into(), stat, size_bytes, sha256, name };
        *locked(&download.0) = Some(file);
        Ok(Success {
            stdout: format!("{shown}, {size_bytes} bytes\n"),
            data,
            path_resolved: Some(shown),
            seen: (!arguments.head).then_some(seen),
            ..Success::default()
        })
    }
}

impl FileDownload {
    /// The file's hash and size, from memory where nothing has changed since.
    fn hash(&self, file: &OwnedFd, stat: &Stat, path: &str, call: &Call) -> Result<(String, u64), ToolError> {
        let hashes = &self.0.file_hashes;
        if let Some(hash) = hashes.get(stat) {
            return Ok((hash, size_bytes(stat)));
        }
        let (hash, bytes) = hash_file(file, path, call)?;
        hashes.put(stat, &hash, SystemTime::now());
        Ok((hash, bytes))
    }
}
