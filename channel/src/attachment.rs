//! A file that came with a message, before it is here.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What a channel knows of a file that somebody sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What the channel downloads it by.
    pub source: String,
    /// What it is, in a word.
    pub kind: Cow<'static, str>,
    /// What the sender's program calls its type. It is shown, and never trusted.
    pub media_type: Option<String>,
    /// What its sender calls it. It is shown, and never a name on our disk.
    pub file_name: Option<String>,
    pub size_bytes: Option<u64>,
}

/// The kinds of files in which somebody speaks.
pub const SPEECH: [&str; 3] = ["voice message", "video note", "audio"];

/// The endings of names that we make, by media type.
const ENDINGS: [(&str, &str); 20] = [
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("audio/ogg", "ogg"),
    ("audio/mpeg", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/x-m4a", "m4a"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/flac", "flac"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("video/quicktime", "mov"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("application/json", "json"),
    ("text/plain", "txt"),
    ("text/csv", "csv"),
    ("text/html", "html"),
];

const LONGEST_ENDING: usize = 8;

impl Attachment {
    /// The ending of the name under which it is stored: by its type, or else that of the sender's name if it
    /// is short and plain. Tools and programs go by it; it promises nothing about the content.
    pub fn ending(&self) -> String {
        let media_type = self.media_type.as_deref().unwrap_or_default();
        if let Some((_, ending)) = ENDINGS.iter().find(|(known, _)| *known == media_type) {
            return (*ending).to_owned();
        }
        let ending =
            self.file_name.as_deref().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        let is_plain = |ending: &&str| {
            (1..=LONGEST_ENDING).contains(&ending.len())
                && ending.chars().all(|character| character.is_ascii_alphanumeric())
        };
        ending.filter(is_plain).map_or_else(|| "bin".to_owned(), str::to_ascii_lowercase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_our_disk_ends_in_what_is_known_or_plain() {
        let check = |media_type: Option<&str>, file_name: &str, expected: &str| {
            let attachment = Attachment {
                source: "f".to_owned(),
                kind: "document".into(),
                media_type: media_type.map(str::to_owned),
                file_name: Some(file_name.to_owned()),
                size_bytes: None,
            };
            assert_eq!(attachment.ending(), expected, "{media_type:?} {file_name}");
        };
        check(Some("application/pdf"), "../../etc/passwd", "pdf");
        check(Some("application/x-unknown"), "a.RS", "rs");
        check(None, "a.tar.gz", "gz");
        check(None, "../../.ssh/authorized_keys", "bin");
        check(None, "a.b/c", "bin");
        check(None, "a.waytoolongending", "bin");
        check(None, ".", "bin");
    }
}
