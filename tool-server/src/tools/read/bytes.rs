//! `read` by bytes: as text if they are UTF-8 that can be shown as it is, else as base64.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::{ToolError, visible};
use toolkit::arguments::invalid;
use toolkit::output::Full;
use toolkit::{Call, Success};

use super::{ReadArguments, ReadData, ReadFile};

const HIDDEN: &str = "The bytes have control or invisible characters, so they are shown as base64.";

pub(super) fn read(
    file: &ReadFile<'_>,
    arguments: &ReadArguments,
    call: &Call,
) -> Result<Success<ReadData>, ToolError> {
    let (offset, size) = (arguments.offset.unwrap_or(0), file.size_bytes());
    if offset > size {
        return Err(invalid(format!("`offset` {offset} is beyond the end: the file has {size} bytes.")));
    }
    let wanted = arguments.limit_bytes.unwrap_or(usize::MAX);
    let mut part = file.part(offset, wanted.min(call.bounds.bytes))?;
    let text = text_of(&part, offset + length(&part) < size);
    let is_hidden = text.as_deref().is_some_and(|text| matches!(visible::escaped(text), Cow::Owned(_)));
    let (stdout, encoding) = match text.filter(|_| !is_hidden) {
        Some(text) => {
            part.truncate(text.len());
            (text, "utf-8")
        }
        None => {
            part.truncate(call.bounds.bytes / 4 * 3);
            (STANDARD.encode(&part), "base64")
        }
    };
    let next = offset + length(&part);
    let cut = (next < size).then_some(if wanted > part.len() { Full::Bytes } else { Full::Limit });
    Ok(Success {
        stdout,
        notices: notice(offset, next, size).into_iter().chain(is_hidden.then(|| HIDDEN.to_owned())).collect(),
        data: ReadData {
            offset: Some(offset),
            bytes: Some(length(&part)),
            encoding: Some(encoding),
            ..ReadData::default()
        },
        ..Success::default()
    }
    .cut_at(cut))
}

/// The bytes as text; an incomplete character or end of line at the end is left for the next page.
fn text_of(part: &[u8], goes_on: bool) -> Option<String> {
    match std::str::from_utf8(part) {
        Ok(text) if goes_on && text.len() > 1 => Some(text.strip_suffix('\r').unwrap_or(text).to_owned()),
        Ok(text) => Some(text.to_owned()),
        Err(error) if goes_on && error.error_len().is_none() && error.valid_up_to() > 0 => {
            String::from_utf8(part[..error.valid_up_to()].to_vec()).ok()
        }
        Err(_) => None,
    }
}

fn notice(offset: u64, next: u64, size: u64) -> Option<String> {
    (next < size)
        .then(|| format!("Showing bytes {offset}–{} of {size}; next: offset {next}.", next.saturating_sub(1)))
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
