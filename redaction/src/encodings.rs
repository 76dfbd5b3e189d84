//! The forms that a secret takes in the output of programs: base64, hex, URL encoding, JSON escapes.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Shorter pieces of base64 occur in ordinary text.
const MIN_PIECE: usize = 8;

/// The secret and its encodings, each once.
pub(super) fn of(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    forms.extend(base64_forms(secret.as_bytes()));
    forms.extend(hex_forms(secret.as_bytes()));
    forms.extend(url_forms(secret));
    forms.extend(escaped_forms(secret));
    forms
}

fn base64_forms(secret: &[u8]) -> Vec<String> {
    let whole =
        [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].map(|engine| engine.encode(secret));
    let pieces = (0..3).flat_map(|lead| base64_pieces(secret, lead));
    whole.into_iter().chain(pieces.filter(|piece| piece.len() >= MIN_PIECE)).collect()
}

/// The part of a secret's base64 that does not depend on what surrounds it, with `lead` bytes (modulo 3)
/// before it.
fn base64_pieces(secret: &[u8], lead: usize) -> [String; 2] {
    let framed = [vec![0; lead].as_slice(), secret].concat();
    let first = (lead * 8).div_ceil(6);
    let last = framed.len() * 8 / 6;
    [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].map(|engine| engine.encode(&framed)[first..last].to_owned())
}

fn hex_forms(secret: &[u8]) -> [String; 2] {
    [each_byte(secret, |byte| format!("{byte:02x}")), each_byte(secret, |byte| format!("{byte:02X}"))]
}

/// RFC 3986, JavaScript's `encodeURIComponent`, HTML forms, and every byte encoded.
fn url_forms(secret: &str) -> Vec<String> {
    let encoded = |plain: &str| {
        each_byte(secret.as_bytes(), |byte| match byte {
            _ if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
    };
    let strict = encoded("-._~");
    let form = encoded("-._* ").replace(' ', "+");
    let everything = each_byte(secret.as_bytes(), |byte| format!("%{byte:02X}"));
    let lower = [lower_escapes(&strict), everything.to_ascii_lowercase()];
    [vec![strict, form, everything, encoded("-._~!'()*"), encoded("-._~/")], lower.to_vec()].concat()
}

/// The same with `%2f` for `%2F`.
fn lower_escapes(encoded: &str) -> String {
    let mut pieces = encoded.split('%');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at(piece.len().min(2));
        text.extend(["%", &digits.to_ascii_lowercase(), rest]);
    }
    text
}

/// JSON as most programs write it, with `\/`, with all but ASCII escaped, and with everything escaped.
fn escaped_forms(secret: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(secret).to_string();
    let json = quoted[1..quoted.len() - 1].to_owned();
    let ascii = each_unit(&json, |unit| unit > 0x7e);
    let everything = each_unit(secret, |_| true);
    let upper = everything.to_ascii_uppercase().replace("\\U", "\\u");
    let bytes = each_byte(secret.as_bytes(), |byte| format!("\\x{byte:02x}"));
    let slashes = [&json, &ascii].map(|form| form.replace('/', "\\/"));
    [vec![json, ascii, everything, upper, bytes], slashes.to_vec()].concat()
}

fn each_byte(bytes: &[u8], encode: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| encode(*byte)).collect()
}

fn each_unit(text: &str, is_escaped: impl Fn(u16) -> bool) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            if !is_escaped(*unit) {
                escaped.push(character);
            } else if write!(escaped, "\\u{unit:04x}").is_err() {
                return escaped;
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_alignment() {
        let secret = "a-secret-of-ours";
        let forms = of(secret);
        for frame in ["", "x", "xy", "xyz"] {
            let text = STANDARD.encode(format!("{frame}{secret}{frame}"));
            assert!(forms.iter().any(|form| text.contains(form.as_str())), "{frame:?}");
        }
    }
}
