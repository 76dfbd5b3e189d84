//! Patterns of the shell, expanded beneath the roots. More may match than the shell finds, never less.

use globset::{GlobBuilder, GlobMatcher};

use super::{join, names_in};
use files::roots::{Roots, names};

/// How many paths one pattern may stand for.
const MAX_MATCHES: usize = 1000;

/// Whether the shell would expand a text that stands without quotes.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The paths that match a pattern from a directory; none if there are too many, or if it looks further than
/// its text says.
pub(super) fn expand(roots: &Roots, directory: &str, pattern: &str) -> Option<Vec<String>> {
    if pattern.contains("**") || pattern.contains('(') {
        return None;
    }
    let start = if pattern.starts_with('/') { "/" } else { directory };
    let mut found = vec![start.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = match matcher(part) {
            Some(matcher) => found.iter().flat_map(|path| matching(roots, path, &matcher)).collect(),
            None => found.iter().map(|path| join(path, &names::to_text(part.as_bytes()))).collect(),
        };
        if found.len() > MAX_MATCHES {
            return None;
        }
    }
    Some(found)
}

/// What matches names; none for a part without a pattern.
fn matcher(part: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(part).literal_separator(true).build();
    Some(glob.ok().filter(|_| is_pattern(part))?.compile_matcher())
}

fn matching(roots: &Roots, directory: &str, matcher: &GlobMatcher) -> Vec<String> {
    let Ok(opened) = roots.open_directory(directory) else { return Vec::new() };
    let all = names_in(&opened.handle).unwrap_or_default();
    let shown = all.iter().map(|name| names::to_text(name));
    shown.filter(|name| matcher.is_match(name)).map(|name| join(directory, &name)).collect()
}
