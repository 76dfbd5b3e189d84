//! Cursors: the last entry shown, as opaque text that is valid only for the same call. It is no offset, so
//! entries that appear or vanish before it do not shift the next page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protocol::ToolError;
use sha2::{Digest, Sha256};
use toolkit::arguments::invalid;

/// How many bytes of the digest bind a cursor to its call.
const DIGEST_BYTES: usize = 8;

/// The cursor after `last`, for a call that `call` describes.
pub(crate) fn encode(call: &str, last: &[u8]) -> String {
    let mut bytes = digest_of(call).to_vec();
    bytes.extend_from_slice(last);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The last entry of the page before; an error when the cursor belongs to another call.
pub(crate) fn decode(call: &str, cursor: &str) -> Result<Vec<u8>, ToolError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    match bytes.split_at_checked(DIGEST_BYTES) {
        Some((found, last)) if found == digest_of(call) => Ok(last.to_vec()),
        _ => Err(invalid("The cursor does not belong to a call with these arguments.").with_hint(
            "Pass `next_page_cursor` back unchanged with the same arguments, or omit it to start again.",
        )),
    }
}

fn digest_of(call: &str) -> [u8; DIGEST_BYTES] {
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
