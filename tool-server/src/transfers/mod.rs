//! Transfers: whole files in and out, for programs and people rather than for models.
//!
//! They run like tools, past the same guards and into the same journal, but in no catalogue: their content is
//! no JSON and comes and goes over `/files`. The bytes are the file's own; nothing in them is redacted.

mod download;
mod upload;

use protocol::{ErrorCode, ToolError};

pub use crate::raw_files::RawFiles;
pub(crate) use download::{Download, FileDownload, OpenFile};
pub(crate) use upload::{FileUpload, Part, Upload};

/// A transfer was called without its stream.
fn no_attachment() -> ToolError {
    ToolError::new(ErrorCode::Internal, "The call came without its content.")
}
