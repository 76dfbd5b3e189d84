//! Transfers: whole files in and out, for programs and people rather than for models.
//!
//! They run like tools, past the same guards and into the same journal, but in no catalogue: their content is
//! no JSON and comes and goes over `/files`. The bytes are the file's own; nothing in them is redacted.

mod download;
mod upload;

use protocol::{ErrorCode, ToolError};

pub(crate) use download::{Download, FileDownload, OpenFile};
pub(crate) use upload::{FileUpload, Part, Upload};

/// The default of AUTONOUS_TOOL_MAX_UPLOAD_BYTES.
pub(crate) const DEFAULT_MAX_UPLOAD_BYTES: u64 = 64 << 20;

/// What the operator allows of raw files.
#[derive(Debug, Clone, Copy)]
pub struct RawFiles {
    /// `AUTONOUS_TOOL_RAW_FILES` (true): serve them at all.
    pub enabled: bool,
    /// `AUTONOUS_TOOL_MAX_UPLOAD_BYTES` (64 MiB): the largest upload.
    pub max_upload_bytes: u64,
}

impl Default for RawFiles {
    fn default() -> Self {
        Self { enabled: true, max_upload_bytes: DEFAULT_MAX_UPLOAD_BYTES }
    }
}

impl RawFiles {
    fn require(self) -> Result<(), ToolError> {
        if self.enabled {
            return Ok(());
        }
        let message = "Raw files are switched off (AUTONOUS_TOOL_RAW_FILES).";
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message)
            .with_hint("Use the tools `read` and `write`, whose answers are redacted."))
    }
}

/// A transfer was called without its stream.
fn no_attachment() -> ToolError {
    ToolError::new(ErrorCode::Internal, "The call came without its content.")
}
