//! Refuses changes of what git reads and runs, wherever it is: in any directory that is a git directory by
//! its layout, or that the change would make one.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, statat};

use super::open::Roots;
use super::root::root_of;

/// In a git directory, what git takes settings and programs from.
const CONTROL: [&str; 5] = ["commondir", "config", "config.worktree", "gitdir", "hooks"];

/// What a directory with a `HEAD` needs to be a git directory.
const LAYOUT: [&str; 3] = ["commondir", "objects", "refs"];

impl Roots {
    /// Sets the files and directories that the settings of git directories name, absolute.
    pub(crate) fn set_named_by_git(&self, named: Vec<PathBuf>) {
        let mut current = self.rules.named_by_git.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *current != named {
            *current = named;
        }
    }

    /// Why writing a path, absolute and without links, would make git run something.
    pub(super) fn why_git_runs(&self, path: &Path) -> Option<&'static str> {
        let named = self.rules.named_by_git.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if named.iter().any(|named| path.starts_with(named)) {
            return Some("is a control file: a git setting names it");
        }
        let (root, beneath) = root_of(&self.roots, path)?;
        if beneath.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
            return Some("is a control file: it would lead git to another directory");
        }
        let handle = &self.roots[root].handle;
        let exists = |path: PathBuf| statat(handle, path, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let mut above = PathBuf::new();
        for part in beneath.components() {
            let Component::Normal(name) = part else { continue };
            let is = |names: &[&str]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
            let has_layout = || LAYOUT.iter().any(|part| exists(above.join(part)));
            let has_head = || exists(above.join("HEAD"));
            if is(&CONTROL) && has_head() && has_layout() {
                return Some("is a control file: git takes settings and programs from it");
            }
            let completes = (is(&["HEAD"]) && !has_head() && has_layout())
                || (is(&LAYOUT) && !has_layout() && has_head());
            if completes {
                return Some("would make its directory a git directory, whose settings git follows");
            }
            above.push(name);
        }
        None
    }
}
