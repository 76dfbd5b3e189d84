//! The trace that a caller has begun: W3C's `traceparent`.

use std::str::FromStr;

/// The caller's trace, and the span of it that asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
}

/// It is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Invalid;

impl FromStr for TraceParent {
    type Err = Invalid;

    /// `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; a later version may have more behind it.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| parts.next().filter(|part| part.len() == digits).ok_or(Invalid);
        let (version, trace, span, _flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let is_valid_end = parts.next().is_none() || version != "00";
        let parent = Self { trace_id: bytes(trace)?, span_id: bytes(span)? };
        let is_set = parent.trace_id != [0; 16] && parent.span_id != [0; 8];
        if is_valid_end && is_set && version != "ff" { Ok(parent) } else { Err(Invalid) }
    }
}

/// Lower-case hexadecimal digits as bytes.
pub(super) fn bytes<const N: usize>(digits: &str) -> Result<[u8; N], Invalid> {
    let is_lower_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if digits.len() != 2 * N || !digits.bytes().all(is_lower_hex) {
        return Err(Invalid);
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = str::from_utf8(pair).map_err(|_| Invalid)?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| Invalid)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_standard_allows_is_a_parent() {
        let parent: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
        assert_eq!((parent.trace_id[0], parent.span_id[7]), (0x0a, 0x31));
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more";
        assert!(later.parse::<TraceParent>().is_ok(), "a later version may have more");
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(Invalid), "{wrong}");
        }
    }
}
