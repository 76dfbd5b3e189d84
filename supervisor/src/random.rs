//! Randomness from the kernel: for tokens, which nobody may guess, and for the jitter of retries.

use std::fs::File;
use std::io::{self, Read};

/// The bytes of a token; 256 bits are beyond guessing.
const TOKEN_BYTES: usize = 32;

/// A new token, in hexadecimal digits.
pub fn token() -> io::Result<String> {
    Ok(bytes::<TOKEN_BYTES>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A number from 0 up to, but not including, 1. Without randomness it is one half: jitter may be missing,
/// a retry may not.
pub fn unit() -> f64 {
    bytes::<4>().map_or(0.5, |four| f64::from(u32::from_le_bytes(four)) / (f64::from(u32::MAX) + 1.0))
}

fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tokens_differ_and_have_64_digits() {
        let (first, second) = (token().unwrap(), token().unwrap());
        assert_ne!(first, second);
        assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    }
}
