//! Which paths git must never write to a working tree, by git's own rules for every system that may share it.
//!
//! git refuses such paths when it reads a tree, but writes what an index says. HFS+ ignores some characters
//! in names and NTFS some endings (`core.protectHFS`, `core.protectNTFS`), so both count everywhere.

/// Whether a path leads out of its working tree or into a git directory.
pub(super) fn is_forbidden(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|part| part.is_empty() || part.split(|byte| *byte == b'\\').any(leads_away))
}

fn leads_away(part: &[u8]) -> bool {
    matches!(part, b"." | b"..") || is_ntfs_dot_git(part) || is_hfs_dot_git(part)
}

/// `.git` and its short name, with the endings that NTFS drops, and as the name of a stream.
fn is_ntfs_dot_git(part: &[u8]) -> bool {
    let rest = [&b".git"[..], b"git~1"].iter().find_map(|name| {
        let begins = part.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        begins.then(|| &part[name.len()..])
    });
    rest.is_some_and(|rest| {
        let end = rest.iter().position(|byte| !matches!(byte, b'.' | b' '));
        end.is_none_or(|end| rest[end] == b':')
    })
}

/// `.git` with characters in it that HFS+ ignores.
fn is_hfs_dot_git(part: &[u8]) -> bool {
    let Ok(part) = std::str::from_utf8(part) else { return false };
    let seen = part.chars().filter(|char| !is_ignored_by_hfs(*char)).flat_map(char::to_lowercase);
    seen.eq(".git".chars())
}

fn is_ignored_by_hfs(char: char) -> bool {
    matches!(char,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_must_not_write_is_forbidden_and_other_names_are_not() {
        let forbidden = "\
            .git/hooks/x · a/.GIT/config · ../x · a/../../x · /etc/x · a//b · ./a · .git · a/.git · \
            .g\u{200c}it/x · .git\u{feff}/x · .git /x · .git./x · a/.git. . /x · GIT~1/x · git~1 · \
            .git:x · .git::$INDEX_ALLOCATION/x · a\\.git\\hooks\\x · ..\\x";
        for path in forbidden.split(" · ").chain([""]) {
            assert!(is_forbidden(path.as_bytes()), "{path:?}");
        }
        let harmless = "\
            a/b .gitignore .gitmodules a/.github/x git git~2 git~10 .gitx ..a a.. ... .git-x x.git/hooks é/ü \
            \u{200c}git a\\b";
        for path in harmless.split_whitespace() {
            assert!(!is_forbidden(path.as_bytes()), "{path:?}");
        }
        assert!(!is_forbidden(b".g\xff\xfeit"));
    }
}
