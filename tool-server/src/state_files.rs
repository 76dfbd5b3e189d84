//! Texts in the `state` root that tools read as a whole: lists and contacts.

use std::fs::File;
use std::io::Read as _;

use protocol::{ErrorCode, ToolError};
use toolkit::contacts::Contacts;

use files::change::io_error;
use files::roots::{Roots, STATE_ALIAS};

/// A longer file is none of them.
const MAX_BYTES: u64 = 1 << 20;

/// A file's path for the roots of any session.
pub(crate) fn path(name: &str) -> String {
    format!("{STATE_ALIAS}/{name}")
}

/// The contacts of a file; none if it does not exist.
pub(crate) fn contacts(roots: &Roots, name: &str) -> Result<Contacts, ToolError> {
    Ok(text(roots, name)?.map(|text| Contacts::parse(&text)).unwrap_or_default())
}

/// Reads a file by its name in the `state` root; none if it does not exist.
pub(crate) fn text(roots: &Roots, name: &str) -> Result<Option<String>, ToolError> {
    let path = path(name);
    let opened = match roots.open_file(&path) {
        Ok(opened) => opened,
        Err(error) if error.code == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let read = File::from(opened.handle).take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(|error| io_error(&path, "read", &error))? as u64 > MAX_BYTES {
        let message = format!("{path:?} has more than {MAX_BYTES} bytes.");
        return Err(ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Ask the user to shorten it."));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| ToolError::new(ErrorCode::BinaryFile, format!("{path:?} is not text in UTF-8.")))
}
