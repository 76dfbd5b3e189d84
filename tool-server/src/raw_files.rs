//! What the operator allows of raw files, which `/files` sends and stores.

use protocol::{ErrorCode, ToolError};
use settings::table::{TOOL_MAX_UPLOAD_BYTES, TOOL_RAW_FILES};

/// What the operator allows of raw files.
#[derive(Debug, Clone, Copy)]
pub struct RawFiles {
    /// Serve them at all.
    pub enabled: bool,
    /// The largest upload.
    pub max_upload_bytes: u64,
}

impl Default for RawFiles {
    fn default() -> Self {
        Self {
            enabled: TOOL_RAW_FILES.default_value(),
            max_upload_bytes: TOOL_MAX_UPLOAD_BYTES.default_value(),
        }
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
