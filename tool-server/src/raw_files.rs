//! What the operator allows of raw files, which `/files` sends and stores.

use protocol::{ErrorCode, ToolError};

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
    pub(crate) fn require(self) -> Result<(), ToolError> {
        if self.enabled {
            return Ok(());
        }
        let message = "Raw files are switched off (AUTONOUS_TOOL_RAW_FILES).";
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message)
            .with_hint("Use the tools `read` and `write`, whose answers are redacted."))
    }
}
