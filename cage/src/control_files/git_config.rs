//! Reads git's config format exactly as git does, and knows where in the file each setting stands.
//!
//! The grammar is that of git's own reader: sections and keys without case, quoted subsections with case,
//! continued lines, comments, escapes, a byte order mark, CRLF. Whatever git would refuse ends the reading,
//! and the caller treats the rest as unknown. This module touches no file and judges no setting.
//!
//! `gix-config` would bring 28 crates more in the place of these two hundred lines.

use std::ops::Range;

/// The marker that some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One setting, as git understands it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Setting {
    /// `core` of `core.editor`, in lower case; empty for a key before any section.
    pub(crate) section: String,
    /// The part between the first and the last dot of the name, as it stands.
    pub(crate) subsection: Option<Vec<u8>>,
    /// `editor` of `core.editor`, in lower case.
    pub(crate) key: String,
    /// None where there is no `=`, which means true.
    pub(crate) value: Option<Vec<u8>>,
}

/// A config file that was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct GitConfig {
    /// Each setting with its bytes in the file, from its key to the end of its last line.
    pub(crate) settings: Vec<(Setting, Range<usize>)>,
    /// Where the first thing begins that is not understood.
    pub(crate) broken_at: Option<usize>,
}

impl Setting {
    /// `section.subsection.key`, as git prints it.
    pub(crate) fn name(&self) -> Vec<u8> {
        let mut name = self.section.clone().into_bytes();
        if let Some(subsection) = &self.subsection {
            name.push(b'.');
            name.extend_from_slice(subsection);
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(self.key.as_bytes());
        name
    }
}

impl GitConfig {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut config = Self::default();
        let mut reader = Reader { bytes, at: 0, ended: false };
        if bytes.starts_with(BYTE_ORDER_MARK) {
            reader.at = BYTE_ORDER_MARK.len();
        }
        let mut section = Vec::new();
        loop {
            reader.skip_blank();
            let start = reader.at;
            let read = match reader.next() {
                Some(b'\n') if reader.ended => return config,
                Some(b'[') => reader.section().map(|name| section = name),
                Some(first) if first.is_ascii_alphabetic() => {
                    reader.setting(first, &section).map(|setting| {
                        config.settings.push((setting, start..reader.at));
                    })
                }
                Some(_) | None => None,
            };
            if read.is_none() {
                config.broken_at = Some(start);
                return config;
            }
        }
    }

    /// The file without these of its settings, and without what was not understood. All other bytes stay.
    pub(crate) fn without(&self, bytes: &[u8], is_unwanted: impl Fn(&Setting) -> bool) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (_, range) in self.settings.iter().filter(|(setting, _)| is_unwanted(setting)) {
            let line = bytes[..range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let line = line.max(at);
            let stands_alone = bytes[line..range.start].iter().all(|byte| matches!(byte, b' ' | b'\t'))
                && (line == 0 || bytes[line - 1] == b'\n');
            kept.extend_from_slice(&bytes[at..if stands_alone { line } else { range.start }]);
            at = range.end;
            if !stands_alone && bytes[..at].ends_with(b"\n") {
                kept.push(b'\n');
            }
        }
        let end = self.broken_at.unwrap_or(bytes.len()).max(at);
        kept.extend_from_slice(&bytes[at..end]);
        kept
    }
}

/// Reads characters as git does: CRLF is one line feed, and the end of the file is one more.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl Reader<'_> {
    /// None for a NUL, at which different versions of git stop in different ways.
    fn next(&mut self) -> Option<u8> {
        let Some(byte) = self.bytes.get(self.at) else {
            self.ended = true;
            return Some(b'\n');
        };
        self.at += 1;
        match byte {
            0 => None,
            b'\r' if self.bytes.get(self.at) == Some(&b'\n') => {
                self.at += 1;
                Some(b'\n')
            }
            byte => Some(*byte),
        }
    }

    /// Skips white space and whole comments between settings.
    fn skip_blank(&mut self) {
        let mut in_comment = false;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => in_comment = false,
                0 => return,
                _ if in_comment || is_space(*byte) => {}
                b'#' | b';' => in_comment = true,
                _ => return,
            }
            self.at += 1;
        }
    }

    /// The name of a section after its `[`: `section`, `section.subsection` or `section "Subsection"`.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            let byte = self.next()?;
            match byte {
                _ if self.ended => return None,
                b']' => return (!name.is_empty()).then_some(name),
                _ if is_space(byte) => return self.quoted_subsection(name, byte),
                _ if is_key_byte(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
    }

    fn quoted_subsection(&mut self, mut name: Vec<u8>, mut byte: u8) -> Option<Vec<u8>> {
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next()?;
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next()? {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next()? {
                    b'\n' => return None,
                    escaped => name.push(escaped),
                },
                byte => name.push(byte),
            }
        }
        (self.next()? == b']').then_some(name)
    }

    fn setting(&mut self, first: u8, section: &[u8]) -> Option<Setting> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        let mut byte = self.next()?;
        while !self.ended && is_key_byte(byte) {
            key.push(char::from(byte.to_ascii_lowercase()));
            byte = self.next()?;
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next()?;
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        let mut parts = section.splitn(2, |byte| *byte == b'.');
        let section = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        Some(Setting { section, subsection: parts.next().map(<[u8]>::to_vec), key, value })
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut trimmed) = (Vec::new(), None);
        let (mut in_quotes, mut in_comment) = (false, false);
        loop {
            let byte = self.next()?;
            match byte {
                b'\n' if in_quotes => return None,
                b'\n' => {
                    value.truncate(trimmed.unwrap_or(value.len()));
                    return Some(value);
                }
                _ if in_comment => continue,
                _ if is_space(byte) && !in_quotes => {
                    trimmed.get_or_insert(value.len());
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !in_quotes => {
                    in_comment = true;
                    continue;
                }
                _ => {}
            }
            trimmed = None;
            match byte {
                b'\\' => match self.next()? {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    escaped @ (b'\\' | b'"') => value.push(escaped),
                    _ => return None,
                },
                b'"' => in_quotes = !in_quotes,
                byte => value.push(byte),
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// A name and its value.
    type Pair = (Vec<u8>, Option<Vec<u8>>);

    /// Whether this git keeps a tab or a carriage return within a value. Older ones read a space instead.
    fn keeps_white_space() -> bool {
        static KEEPS: LazyLock<bool> = LazyLock::new(|| {
            let read = listed_by_git(b"[a]\nb = c\td").expect("git reads a plain file");
            read[0].1.as_deref() == Some(b"c\td")
        });
        *KEEPS
    }

    /// What git reads, and what we read for a git that does not keep white space as it is.
    fn compared(bytes: &[u8]) -> (Option<Vec<Pair>>, Option<Vec<Pair>>) {
        let as_space = |byte: u8| if is_space(byte) { b' ' } else { byte };
        let plain =
            |(name, value): Pair| (name, value.map(|value| value.into_iter().map(as_space).collect()));
        let (git, own) = (listed_by_git(bytes), read_by_us(bytes));
        if keeps_white_space() {
            return (git, own);
        }
        [git, own].map(|pairs| Some(pairs?.into_iter().map(plain).collect())).into()
    }

    /// What git reads; none if it refuses the file.
    fn listed_by_git(bytes: &[u8]) -> Option<Vec<Pair>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        fs::write(&path, bytes).unwrap();
        let output = Command::new("git")
            .args(["config", "--list", "-z", "--no-includes", "--file"])
            .arg(&path)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let entry = |entry: &[u8]| match entry.iter().position(|byte| *byte == b'\n') {
            Some(end) => (entry[..end].to_vec(), Some(entry[end + 1..].to_vec())),
            None => (entry.to_vec(), None),
        };
        let entries = output.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        output.status.success().then(|| entries.map(entry).collect())
    }

    fn read_by_us(bytes: &[u8]) -> Option<Vec<Pair>> {
        let config = GitConfig::parse(bytes);
        let pair = |(setting, _): &(Setting, Range<usize>)| (setting.name(), setting.value.clone());
        config.broken_at.is_none().then(|| config.settings.iter().map(pair).collect())
    }

    const ODD: [&str; 28] = [
        "[core]\n\tfsmonitor = x\n",
        "[core]fsmonitor=x",
        "\u{feff}[core]\nfsmonitor=x\n",
        "[CORE]\r\nFsMonitor = \"a b\" # c\r\n",
        "[core]\nfsmonitor = a\\\nb ; c\n",
        "[core]\nfsmonitor = \"a\\\n  b\"\n",
        "[core \"Sub.Sec\\\"tion\\\\\"]\nkey = v\n",
        "[core.SUB]\nkey = v\n",
        "[core]key\n[user]\nname",
        "[core] a = b [user] c = d\n",
        "[core]\nkey = # only a comment\nx = ;\n",
        "[core]\nkey = \"\"\n",
        "[core]\nkey = a  \t b   \n",
        "[core]\nkey = \\q\n",
        "[core]\nkey = \"open\n",
        "[core]\nkey = a\\",
        "[core\n]key = v\n",
        "[core \"a\nb\"]key = v\n",
        "[]\nkey = v\n",
        "[ \"x\"]\nkey = v\n",
        "key = before any section\n",
        "[core]\n9key = v\n",
        "[core]\nke_y = v\n",
        "[core]\nkey : v\n",
        "[core] # c [x]\nkey = v\n[x \"y\"]; c\nkey = \"#\"\n",
        "[a.b \"c\"]\nkey = v\r\rw\n",
        "\u{feff}\u{feff}[core]\nkey=v\n",
        "[core]\nkey = \\t\\b\\n\\\\\\\"\n",
    ];

    /// git prints a key without section or one of an odd section otherwise than it reads it; names suffice.
    #[test]
    fn odd_files_are_read_as_git_reads_them() {
        for text in ODD {
            let (git, own) = compared(text.as_bytes());
            assert_eq!(own, git, "{text:?}");
        }
    }

    #[test]
    fn a_setting_is_cut_out_and_everything_else_stays_byte_for_byte() {
        let check = |text: &str, expected: &str| {
            let kept = GitConfig::parse(text.as_bytes()).without(text.as_bytes(), |one| one.key == "cut");
            assert_eq!(String::from_utf8(kept).unwrap(), expected, "{text:?}");
        };
        check("[a]\n\tx = 1\n\tcut = 2 ; why\n\ty = 3\n", "[a]\n\tx = 1\n\ty = 3\n");
        check("[a]cut=1\n[b]y=2", "[a]\n[b]y=2");
        check("[a]\ncut = 1\\\n more\nx = 1 # c\r\n", "[a]\nx = 1 # c\r\n");
        check("[a]\nx = 1\n\tcut", "[a]\nx = 1\n");
        check("# c\n[a \"S\"] CUT = 1\ncut\ncut=2\nx\n", "# c\n[a \"S\"] \nx\n");
        check("[a]\nx = 1\nbroken here = \"\ny = 2\n", "[a]\nx = 1\n");
        check("\u{feff}[a]cut\n", "\u{feff}[a]\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn any_file_is_read_as_git_reads_it(
            parts in prop::collection::vec(prop::sample::select(vec![
                "[", "]", "core", "a", "Sub", "\"", "\\", "\n", "\r", "\r\n", " ", "\t", "=", "#", ";", ".",
                "fsmonitor", "x y", "-", "!", "\\\n", "[core]", "\nk = v", "[a \"B\"]", "é", "\u{b}", "1",
            ]), 0..24)
        ) {
            let text = parts.concat();
            let (git, own) = compared(text.as_bytes());
            prop_assert_eq!(own, git, "{:?}", text);
        }

        #[test]
        fn what_is_left_after_a_cut_is_the_same_settings_without_those(
            lines in prop::collection::vec(prop::sample::select(vec![
                "[core]", "[a \"B\"]", "\n", "\tcut = 1\n", "x = 1\n", "cut", "=2 # c\n", "y = \"a\\\nb\"\n",
                "cut = a\\\n b\r\n", "; c\n", " ",
            ]), 0..16)
        ) {
            let text = lines.concat();
            let config = GitConfig::parse(text.as_bytes());
            let left = GitConfig::parse(&config.without(text.as_bytes(), |one| one.key == "cut"));
            let expected: Vec<Setting> = config
                .settings.into_iter().map(|(one, _)| one).filter(|one| one.key != "cut").collect();
            prop_assert_eq!(left.broken_at, None);
            let left: Vec<Setting> = left.settings.into_iter().map(|(one, _)| one).collect();
            prop_assert_eq!(left, expected, "{:?}", text);
        }
    }
}
