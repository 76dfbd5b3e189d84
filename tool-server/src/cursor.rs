//! Cursors: where the next page starts, as an opaque text that fits only the call it came from.
//!
//! A cursor holds the last thing that was shown, not a number of things to skip, so entries that come or
//! go before it move nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protocol::ToolError;
use sha2::{Digest, Sha256};
use toolkit::arguments::invalid;

/// How many bytes of the digest tie a cursor to its call.
const TIE_BYTES: usize = 8;

/// The cursor after `last`, for a call that is described by `call`.
pub(crate) fn encode(call: &str, last: &[u8]) -> String {
    let mut bytes = tie(call).to_vec();
    bytes.extend_from_slice(last);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What the page before showed last; an error when the cursor is of another call.
pub(crate) fn decode(call: &str, cursor: &str) -> Result<Vec<u8>, ToolError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    match bytes.split_at_checked(TIE_BYTES) {
        Some((found, last)) if found == tie(call) => Ok(last.to_vec()),
        _ => Err(invalid("The cursor does not belong to a call with these arguments.")
            .with_hint("Pass `next_page_cursor` back unchanged, with the same other arguments, or leave it out to start again.")),
    }
}

fn tie(call: &str) -> [u8; TIE_BYTES] {
    let digest = Sha256::digest(call.as_bytes());
    std::array::from_fn(|index| digest[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_only_its_own_call() {
        let cursor = encode("ls src", b"b/\xff");
        assert_eq!(decode("ls src", &cursor).unwrap(), b"b/\xff");
        for (call, cursor) in
            [("ls doc", cursor.as_str()), ("ls src", ""), ("ls src", "!"), ("ls src", "AAAA")]
        {
            assert!(decode(call, cursor).is_err(), "{call} {cursor}");
        }
    }
}
