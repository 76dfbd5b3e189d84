//! The rules of ignore files: `.ignore`, and inside a git repository `.gitignore` and `.git/info/exclude`.
//!
//! The `ignore` crate parses and matches the patterns. We open the files ourselves, beneath their directory's
//! handle, because that crate would follow a link out of the root, read the parents up to `/`, and block on a
//! pipe named `.gitignore`. The rules of directories between the root and the searched one apply; nothing
//! outside a root is read, and no user's global file. Like git, we read no ignore file through a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use files::roots::open_child_file;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use rustix::fs::{AtFlags, fstat, statat};

use crate::entry_type::EntryType;

/// The most that is read of an ignore file; the largest real ones have some hundred kilobytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Which ignore files a directory has, and whether it is a repository.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IgnoreFiles {
    git: bool,
    git_ignore: bool,
    ignore: bool,
}

/// The rules that apply in a directory: its own first, then its parents'.
pub(super) struct IgnoreRules {
    parent: Option<Arc<IgnoreRules>>,
    /// The length of the directory's path beneath the root, with its final `/`.
    base: usize,
    is_repository: bool,
    ignore: Gitignore,
    git_ignore: Gitignore,
    git_exclude: Gitignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Unmatched,
    Ignored,
    /// A rule exempts it, which also includes a hidden name.
    Whitelisted,
}

impl IgnoreFiles {
    pub(super) fn note(&mut self, name: &[u8]) {
        match name {
            b".git" => self.git = true,
            b".gitignore" => self.git_ignore = true,
            b".ignore" => self.ignore = true,
            _ => {}
        }
    }

    /// Checks a directory whose names were not read.
    pub(super) fn probe(directory: BorrowedFd<'_>) -> Self {
        let mut ignore_files = Self::default();
        for name in [".git", ".gitignore", ".ignore"] {
            if statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                ignore_files.note(name.as_bytes());
            }
        }
        ignore_files
    }

    fn any(self) -> bool {
        self.git || self.git_ignore || self.ignore
    }
}

impl IgnoreRules {
    /// The rules in a directory whose path beneath the root has `base` bytes; its parent's if it adds none.
    pub(super) fn within(
        parent: Option<Arc<Self>>,
        directory: BorrowedFd<'_>,
        ignore_files: IgnoreFiles,
        base: usize,
    ) -> Option<Arc<Self>> {
        if !ignore_files.any() {
            return parent;
        }
        let read = |is_there, name| if is_there { read(directory, name) } else { Gitignore::empty() };
        Some(Arc::new(Self {
            parent,
            base,
            is_repository: ignore_files.git,
            ignore: read(ignore_files.ignore, ".ignore"),
            git_ignore: read(ignore_files.git_ignore, ".gitignore"),
            // The `.git` file of a worktree leads elsewhere; we do not follow it.
            git_exclude: read(ignore_files.git, ".git/info/exclude"),
        }))
    }

    /// What the rules say about a path beneath the root. Of each kind the nearest rule wins, `.ignore` before
    /// `.gitignore` before `exclude`; git's rules apply only up to the top of the repository.
    pub(super) fn judge(&self, path: &[u8], is_directory: bool) -> Verdict {
        let in_repository = self.upwards().any(|rules| rules.is_repository);
        let (mut ignore, mut git_ignore, mut git_exclude) =
            (Verdict::Unmatched, Verdict::Unmatched, Verdict::Unmatched);
        let mut above_repository = false;
        for rules in self.upwards() {
            let below = Path::new(OsStr::from_bytes(&path[rules.base..]));
            let verdict = |found: Verdict, matcher: &Gitignore| match found {
                Verdict::Unmatched => Verdict::from(matcher.matched(below, is_directory)),
                settled @ (Verdict::Ignored | Verdict::Whitelisted) => settled,
            };
            ignore = verdict(ignore, &rules.ignore);
            if in_repository && !above_repository {
                git_ignore = verdict(git_ignore, &rules.git_ignore);
                git_exclude = verdict(git_exclude, &rules.git_exclude);
            }
            above_repository |= rules.is_repository;
        }
        [ignore, git_ignore, git_exclude]
            .into_iter()
            .find(|verdict| *verdict != Verdict::Unmatched)
            .unwrap_or(Verdict::Unmatched)
    }

    fn upwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.parent.as_deref())
    }
}

impl From<Match<&Glob>> for Verdict {
    fn from(matched: Match<&Glob>) -> Self {
        match matched {
            Match::None => Self::Unmatched,
            Match::Ignore(_) => Self::Ignored,
            Match::Whitelist(_) => Self::Whitelisted,
        }
    }
}

/// The patterns of an ignore file, as far as it is readable; invalid lines are skipped.
fn read(directory: BorrowedFd<'_>, name: &str) -> Gitignore {
    let mut patterns = GitignoreBuilder::new("");
    let file = open_child_file(directory, Path::new(name)).ok();
    let is_regular = |stat| EntryType::of(&stat) == EntryType::File;
    if let Some(file) = file.filter(|file| fstat(file.as_fd()).is_ok_and(is_regular)) {
        let lines = BufReader::new(File::from(file).take(MAX_IGNORE_FILE_BYTES)).lines();
        for (number, line) in lines.map_while(Result::ok).enumerate() {
            let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { &line };
            let _ = patterns.add_line(None, line);
        }
    }
    patterns.build().unwrap_or_else(|_| Gitignore::empty())
}
