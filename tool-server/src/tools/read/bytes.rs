//! `read` by bytes: as text if they are UTF-8 that can be shown as it is, else as base64.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::{ToolError, visible};
use redaction::{PLACEHOLDER, Redactor};
use toolkit::arguments::invalid;
use toolkit::output::Full;
use toolkit::{Call, Success};

use super::{ReadArguments, ReadData, ReadFile};
use crate::private_key_lines::{LOOK_BACK_BYTES, length_in_key};

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
    let goes_on = offset + length(&part) < size;
    let shown = match text_of(&part, goes_on) {
        Some(text) => {
            part.truncate(text.len());
            as_text(text, &before(file, offset)?)
        }
        None => Shown { encoding: "base64", ..Shown::default() },
    };
    let stdout = match shown.encoding {
        "base64" => {
            part.truncate(call.bounds.bytes / 4 * 3);
            STANDARD.encode(&part)
        }
        _ => shown.text,
    };
    let next = offset + length(&part);
    let cut = (next < size).then_some(if wanted > part.len() { Full::Bytes } else { Full::Limit });
    Ok(Success {
        stdout,
        redacted: shown.redacted,
        notices: notice(offset, next, size).into_iter().chain(shown.notice.map(str::to_owned)).collect(),
        data: ReadData {
            offset: Some(offset),
            bytes: Some(length(&part)),
            encoding: Some(shown.encoding),
            ..ReadData::default()
        },
        ..Success::default()
    }
    .cut_at(cut))
}

#[derive(Default)]
struct Shown {
    text: String,
    encoding: &'static str,
    notice: Option<&'static str>,
    redacted: bool,
}

/// How a text is shown: as it is, or else as base64, in which redaction would find no secret.
fn as_text(text: String, before: &[u8]) -> Shown {
    let in_key = length_in_key(before, text.as_bytes());
    let is_secret = in_key > 0;
    let text = if is_secret { format!("{PLACEHOLDER}\n{}", &text[in_key..]) } else { text };
    let is_visible = matches!(visible::escaped(&text), Cow::Borrowed(_));
    if is_visible || is_secret || matches!(Redactor::new([]).redact(&text), Cow::Owned(_)) {
        return Shown { text, encoding: "utf-8", notice: None, redacted: is_secret };
    }
    Shown { encoding: "base64", notice: Some(HIDDEN), ..Shown::default() }
}

/// What stands before an offset, as far as a private key may reach.
fn before(file: &ReadFile<'_>, offset: u64) -> Result<Vec<u8>, ToolError> {
    let length = usize::try_from(offset).unwrap_or(usize::MAX).min(LOOK_BACK_BYTES);
    file.part(offset - u64::try_from(length).unwrap_or(offset), length)
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
