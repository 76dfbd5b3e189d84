//! What programs and people do rather than models: whole files in and out, and undoing changes.
//!
//! It runs like a tool, past the same guards and into the same journal, but is in no catalogue and has a
//! route of its own. The bytes of a file are its own; nothing in them is redacted.

mod download;
mod undo;
mod upload;

use protocol::{ErrorCode, ToolError};

pub use crate::raw_files::RawFiles;
pub(crate) use download::{Download, FileDownload, OpenFile};
pub(crate) use undo::{Undo, UndoRight};
pub(crate) use upload::{FileUpload, Part, Upload};

/// A transfer was called without its stream.
fn no_attachment() -> ToolError {
    ToolError::new(ErrorCode::Internal, "The call came without its content.")
}
