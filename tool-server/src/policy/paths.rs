//! Paths in arguments: which of them are a root, or hold one.
//!
//! Only the text is looked at. Where a path really leads is for the kernel to know.

use std::path::{Component, Path, PathBuf};

use super::word::{UNKNOWN, Word};

/// Directories that belong to the system and not to the work.
const SYSTEM: [&str; 18] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root",
    "/run", "/sbin", "/srv", "/sys", "/usr", "/var",
];

/// Whether a word names a root, something that holds one, the home directory, or a directory of the
/// system; or everything within (`/workspace/*`).
pub(super) fn is_root_or_above(word: &Word, directory: Option<&str>, roots: &[PathBuf]) -> bool {
    let Some(text) = word.known() else { return false };
    let Some(path) = absolute(without_wildcards(text), directory) else { return false };
    path == Path::new("~")
        || SYSTEM.iter().any(|system| path == Path::new(system))
        || path == Path::new("/")
        || roots.iter().any(|root| root.starts_with(&path))
}

/// Whether a path is known to lie where the file tools do not look: in a directory of the system, in no
/// root.
pub(super) fn is_beyond_tools(word: &Word, roots: &[PathBuf]) -> bool {
    let Some(path) = word.known().and_then(|text| absolute(text, None)) else { return false };
    let in_system = SYSTEM.iter().chain(&["/tmp", "~"]).any(|system| path.starts_with(system));
    (in_system || path == Path::new("/")) && !roots.iter().any(|root| path.starts_with(root))
}

/// `/work/*` and `/work/{*,.*}` are all that `/work` holds.
fn without_wildcards(text: &str) -> &str {
    let mut rest = text;
    while let Some((parent, last)) = rest.rsplit_once('/') {
        let everything = last.contains('*') && last.chars().all(|c| "*.{},[!]?".contains(c));
        if !everything {
            break;
        }
        rest = if parent.is_empty() { "/" } else { parent };
    }
    let alone = rest.contains('*') && rest.chars().all(|c| "*.{},[!]?".contains(c));
    if alone { "." } else { rest }
}

/// The path without `.` and `..`, as far as the text alone tells.
fn absolute(text: &str, directory: Option<&str>) -> Option<PathBuf> {
    let full = match directory {
        _ if text.starts_with(['/', '~']) => PathBuf::from(text),
        Some(directory) if !directory.contains(UNKNOWN) => Path::new(directory).join(text),
        _ => return None,
    };
    let mut clean = PathBuf::new();
    for component in full.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    Some(clean)
}
