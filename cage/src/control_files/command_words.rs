//! Which files a setting of git names as programs: the words of a command line that are paths, and the script
//! that is given to an interpreter.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A file that a command line may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) path: PathBuf,
    /// Whether it is a path, with a slash; otherwise it is the script of an interpreter.
    pub(super) is_path: bool,
}

/// Programs whose first word without a dash is a script.
const INTERPRETERS: [&str; 16] = [
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "fish", "node", "deno", "bun", "perl", "ruby", "lua",
    "php", "exec",
];

/// The files that a value names, as far as its words say so.
pub(super) fn named(value: &[u8]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut is_script = false;
    for (word, is_expanded) in split(value) {
        let word = word.split(|byte| *byte == b'=').next_back().unwrap_or_default();
        if word.contains(&b'/') {
            words.push(Word { path: path(word), is_path: true });
            // What comes before the slash is only known to the shell: most of all, the top of the working
            // tree.
            let end = word.iter().position(|byte| *byte == b'/').filter(|_| is_expanded);
            if let Some(rest) = end.map(|end| &word[end + 1..]).filter(|rest| !rest.is_empty()) {
                words.push(Word { path: path(rest), is_path: true });
            }
        } else if is_script && !word.starts_with(b"-") && !word.is_empty() {
            words.push(Word { path: path(word), is_path: false });
        }
        is_script = is_interpreter(word) || (is_script && word.starts_with(b"-"));
    }
    words
}

fn is_interpreter(word: &[u8]) -> bool {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    INTERPRETERS.contains(&name.as_ref()) || name.starts_with("python")
}

/// The words of a command line, each with whether it begins with something that the shell replaces.
fn split(value: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"';|&()<>`${}!,".contains(byte);
    let mut at = 0_usize;
    value.split(ends).filter_map(move |word| {
        let before = at.checked_sub(1).and_then(|before| value.get(before));
        at += word.len() + 1;
        let is_expanded = before.is_some_and(|byte| b"$){}`\"'".contains(byte));
        (!word.is_empty()).then_some((word, is_expanded))
    })
}

fn path(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_scripts_are_found_and_other_words_are_not() {
        for (value, expected) in [
            ("./fsm.sh", "./fsm.sh"),
            ("sh fsm.sh --x", "fsm.sh"),
            ("python3 -u tools/clean.py %f", "tools/clean.py"),
            ("!bash -e x.sh && y", "x.sh"),
            ("!\"$PWD/tools/x\" a", "PWD/tools/x tools/x"),
            ("$(git rev-parse --show-toplevel)/t/x.sh", "/t/x.sh t/x.sh"),
            ("/abs/x --to=./y", "/abs/x ./y"),
            ("less -R", ""),
            ("!npm run build", ""),
            ("vim", ""),
        ] {
            let found: Vec<String> =
                named(value.as_bytes()).iter().map(|it| it.path.display().to_string()).collect();
            assert_eq!(found.join(" "), expected, "{value}");
        }
    }
}
