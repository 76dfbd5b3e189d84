//! Which lines belong to a private key that began before them.
//!
//! Redaction finds a key by its first line. A page or a match that enters a key in its middle does not have
//! that line, so code that shows lines of a file asks here first. Where the file is not at hand as a whole,
//! only [`LOOK_BACK_BYTES`] before a line are looked at: a key is shorter.

use std::os::fd::AsFd;

use memchr::memmem;

/// How much of a file before a line is looked at. The longest RSA keys take 13 kB, and a PGP block of several
/// keys about as much.
pub(crate) const LOOK_BACK_BYTES: usize = 64 * 1024;

/// The shortest first line of a key's body; a shorter one is a word.
const SHORTEST_BODY: usize = 24;

/// How much is looked at before a line to see that no key can be there.
const GLANCE_BYTES: usize = 256;

/// Follows lines and knows whether it is inside of a key.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivateKeyLines {
    #[default]
    Outside,
    /// After the first line and perhaps headers.
    Begun,
    Inside,
}

impl PrivateKeyLines {
    /// Takes the next line; true if it belongs to the body of a key.
    pub(crate) fn next(&mut self, line: &[u8]) -> bool {
        if begins(line) {
            *self = Self::Begun;
            return false;
        }
        if *self == Self::Outside {
            return false;
        }
        let body = trimmed(line);
        let is_base64 = body.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
        *self = match self {
            _ if body.is_empty() || *self == Self::Begun && is_header(body) => *self,
            Self::Begun if is_base64 && body.len() >= SHORTEST_BODY => Self::Inside,
            Self::Inside if is_base64 => Self::Inside,
            _ => Self::Outside,
        };
        *self == Self::Inside && !body.is_empty()
    }

    /// Where what follows these bytes stands; they begin anywhere, and may end within a line.
    pub(crate) fn after(bytes: &[u8]) -> Self {
        let last = [b"PRIVATE KEY".as_slice(), b"Private-Lines:"].map(|mark| memmem::rfind(bytes, mark));
        let Some(mark) = last.into_iter().flatten().max() else { return Self::Outside };
        let start = memchr::memrchr(b'\n', &bytes[..mark]).map_or(0, |newline| newline + 1);
        let mut lines = Self::Outside;
        for line in bytes[start..].split_inclusive(|byte| *byte == b'\n') {
            lines.next(line);
        }
        lines
    }
}

/// How many bytes of a text belong to a key that began in the bytes before it.
pub(crate) fn length_in_key(before: &[u8], text: &[u8]) -> usize {
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let mut lines = PrivateKeyLines::after(&before[..start]);
    if cuts_key(&before[start..]) {
        let end = memmem::find(text, b"-----END").or_else(|| memchr::memchr(b'\n', text));
        return end.unwrap_or(text.len());
    }
    let mut line = before[start..].to_vec();
    let mut length = 0;
    for part in text.split_inclusive(|byte| *byte == b'\n') {
        line.extend_from_slice(part);
        let is_body = lines.next(&line);
        // Redaction finds a key whose first line is whole.
        let is_whole_begin = length == 0 && start == before.len() && begins(&line);
        if !is_body && (lines == PrivateKeyLines::Outside || is_whole_begin) {
            break;
        }
        length += part.len();
        line.clear();
    }
    length
}

/// Whether text that follows these bytes of the same line belongs to a key, as in JSON.
pub(crate) fn cuts_key(before: &[u8]) -> bool {
    let mark = memmem::rfind(before, b"PRIVATE KEY");
    mark.is_some_and(|mark| {
        begins(&before[mark.saturating_sub(60)..]) && memmem::find(&before[mark..], b"-----END").is_none()
    })
}

/// Whether the line that begins at `offset` of a file belongs to a key that began before it.
pub(crate) fn is_in_key(file: impl AsFd, line: &[u8], offset: u64) -> bool {
    let may_be_body = |line: &[u8]| PrivateKeyLines::Inside.clone().next(line);
    if offset == 0 || !may_be_body(line) {
        return false;
    }
    let glance = before(&file, offset, GLANCE_BYTES);
    let glanced = glance.strip_suffix(b"\n").unwrap_or(&glance);
    let previous = memchr::memrchr(b'\n', glanced).map_or(glanced, |newline| &glanced[newline + 1..]);
    let is_short_word = !trimmed(previous).is_empty() && previous.len() < SHORTEST_BODY;
    let leads_on = begins(previous) || is_header(previous) || trimmed(previous).is_empty();
    if !leads_on && (is_short_word || !may_be_body(previous)) {
        return false;
    }
    PrivateKeyLines::after(&before(&file, offset, LOOK_BACK_BYTES)).next(line)
}

/// At most `most` bytes before an offset; nothing if they cannot be read.
fn before(file: &impl AsFd, offset: u64, most: usize) -> Vec<u8> {
    let length = usize::try_from(offset).unwrap_or(usize::MAX).min(most);
    let mut bytes = vec![0; length];
    let from = offset - u64::try_from(length).unwrap_or(offset);
    let read = rustix::io::pread(file, &mut bytes, from).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

/// The first line of a PEM or SSH2 block, or what precedes a key of PuTTY.
fn begins(line: &[u8]) -> bool {
    let is_block = || {
        memmem::find(line, b"PRIVATE KEY").is_some_and(|at| memmem::find(&line[..at], b"BEGIN ").is_some())
    };
    // Every line of a file is asked, and hardly one has this letter.
    memchr::memchr(b'P', line).is_some() && (is_block() || memmem::find(line, b"Private-Lines:").is_some())
}

/// `Proc-Type: 4,ENCRYPTED`
fn is_header(line: &[u8]) -> bool {
    let name = line.iter().position(|byte| *byte == b':').map(|colon| &line[..colon]);
    name.is_some_and(|name| {
        (3..=20).contains(&name.len()) && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-')
    })
}

/// A line without what source code, quotes and differences put around it.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    let start = line.iter().position(|byte| !b" \t>|#*\"'-".contains(byte)).unwrap_or(line.len());
    let line = &line[start..];
    // A plus sign is a letter of base64, but not the first of a line in a difference.
    let line = line.strip_prefix(b"+").filter(|_| start == 0).unwrap_or(line);
    let end = line.iter().rposition(|byte| !b"\"',;+ \\".contains(byte)).map_or(0, |last| last + 1);
    let line = &line[..end];
    line.strip_suffix(b"\\n").or_else(|| line.strip_suffix(b"\\r\\n")).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT";

    fn body_lines(text: &str) -> Vec<usize> {
        let mut lines = PrivateKeyLines::default();
        let of_keys = text.lines().zip(1..).filter(|(line, _)| lines.next(line.as_bytes()));
        of_keys.map(|(_, number)| number).collect()
    }

    #[test]
    fn the_body_of_a_key_is_known_until_its_end_or_other_text() {
        let begin = concat!("-----BEGIN RSA ", "PRIVATE KEY-----");
        for (text, expected) in [
            (
                format!("a\n{begin}\n{BODY}\n{BODY}\nGx0S==\n-----END RSA PRIVATE KEY-----\n{BODY}\n"),
                vec![3, 4, 5],
            ),
            (format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n{BODY}\n{BODY}"), vec![5, 6]),
            (
                format!("key = \"{begin}\\n\" +\n  \"{BODY}\\n\" +\n  \"Gx0S==\\n\";\nint main;\nword"),
                vec![2, 3],
            ),
            (format!("+{begin}\n+{BODY}\n+Gx0S\n"), vec![2, 3]),
            (format!("if line == \"{begin}\" {{\n    found\n}}\n{BODY}"), vec![]),
            (format!("-----BEGIN CERTIFICATE-----\n{BODY}\n"), vec![]),
            (format!("Private-Lines: 2\n{BODY}\nGx0S\nPrivate-MAC: 00\n{BODY}"), vec![2, 3]),
        ] {
            assert_eq!(body_lines(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_line_of_a_file_is_known_by_what_is_before_it() {
        let begin = concat!("-----BEGIN ", "PRIVATE KEY-----");
        let text =
            format!("x\n{begin}\n{BODY}\n{BODY}\nGx0S==\n-----END PRIVATE KEY-----\n{BODY}\nword\nword\n");
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        for at in 0..text.len() {
            let body = text.find(begin).unwrap() + 1..text.find("-----END").unwrap();
            let expected = if body.contains(&at) { body.end - at } else { 0 };
            assert_eq!(length_in_key(&text.as_bytes()[..at], &text.as_bytes()[at..]), expected, "at {at}");
        }
        let mut offset = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            assert_eq!(is_in_key(&file, line.as_bytes(), offset), (2..5).contains(&number), "{line}");
            offset += u64::try_from(line.len()).unwrap();
        }
    }
}
