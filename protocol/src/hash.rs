//! SHA-256 in lower-case hex, the only hash in this project.

use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes, in lower-case hex.
pub fn sha256(content: &[u8]) -> String {
    in_hex(&Sha256::digest(content))
}

/// Bytes in lower-case hex.
pub fn in_hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_matches_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
        assert_eq!(in_hex(&[0, 15, 16, 255]), "000f10ff");
    }
}
