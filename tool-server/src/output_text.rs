//! A part of a command's output as text, without what belongs to a private key that began before it.

use cage::command::{Changes, sanitize};
use redaction::PLACEHOLDER;

use crate::private_key_lines::length_in_key;

/// The text, and whether something of a key was left out. `before` is what the same stream wrote before.
pub(crate) fn text_of(bytes: &[u8], before: &[u8], changes: &mut Changes) -> (String, bool) {
    let in_key = if before.is_empty() { 0 } else { length_in_key(before, bytes) };
    let text = sanitize(&bytes[in_key..], changes);
    if in_key > 0 { (format!("{PLACEHOLDER}\n{text}"), true) } else { (text, false) }
}
