//! Refuses changes of what git reads and runs, wherever it is: in any directory that is a git directory by
//! its layout, or that the change would make one.
//!
//! What counts is the state after the change. A change is judged when its path is resolved, and once more
//! when it is made, while no other change of such a name is: several of them, each harmless, could make a git
//! directory together.

use std::path::{Component, Path, PathBuf};
use std::sync::PoisonError;

use protocol::{ErrorCode, ToolError};
use rustix::fs::{AtFlags, statat};
use toolkit::locked;

use super::error::refused;
use super::git_rules::GitChange;
use super::names;
use super::open::Roots;
use super::root::root_of;

/// In a git directory, what git takes settings, programs and paths from.
const CONTROL: [&str; 12] = [
    "branches", "commondir", "config", "config.worktree", "gitdir", "hooks", "index", "packed-refs",
    "rebase-apply", "rebase-merge", "remotes", "sequencer",
];

/// What a split index is called, before its hash.
const SHARED_INDEX: &[u8] = b"sharedindex.";

/// What a directory with a `HEAD` needs to be a git directory.
const LAYOUT: [&str; 3] = ["commondir", "objects", "refs"];

/// How many paths are remembered that file tools wrote; of more, the first in order are forgotten.
const MAX_WRITTEN: usize = 100_000;

impl Roots {
    /// Sets the files and directories that the settings of git directories name, absolute.
    pub fn set_named_by_git(&self, named: Vec<PathBuf>) {
        let mut current = self.rules.git.named.write().unwrap_or_else(PoisonError::into_inner);
        if *current != named {
            *current = named;
        }
    }

    /// Judges paths, absolute and without links, that are about to be written together, and keeps other
    /// changes waiting until they are. From then on they are known as written by a file tool.
    pub(crate) fn permit_together(&self, paths: &[&Path]) -> Result<GitChange<'_>, ToolError> {
        let held = self.hold_git_changes(paths);
        for path in paths {
            let why = self.why_git_runs(path, paths);
            let refusal = |why| Err(refused(ErrorCode::ProtectedPath, &names::path_to_text(path), why));
            why.map_or(Ok(()), refusal)?;
        }
        if held.is_some() {
            let mut written = locked(&self.rules.git.written);
            written.extend(paths.iter().map(|path| path.to_path_buf()));
            while written.len() > MAX_WRITTEN {
                written.pop_first();
            }
        }
        Ok(held)
    }

    /// Whether a file tool wrote a path that git knows by its name.
    pub fn was_written(&self, path: &Path) -> bool {
        let written = locked(&self.rules.git.written);
        written.contains(path)
    }

    /// Waits for other changes of names that git knows, if one of these is.
    pub(super) fn hold_git_changes(&self, paths: &[&Path]) -> GitChange<'_> {
        let is_known = |path: &&Path| path.iter().any(|name| is_known(name.as_encoded_bytes()));
        let hold = || locked(&self.rules.git.changing);
        paths.iter().any(is_known).then(hold)
    }

    /// Refuses a path that would make git run something once it is written.
    pub(super) fn permit_for_git(&self, shown: &str, path: &Path) -> Result<(), ToolError> {
        let why = self.why_git_runs(path, &[path]);
        why.map_or(Ok(()), |why| Err(refused(ErrorCode::ProtectedPath, shown, why)))
    }

    fn why_git_runs(&self, path: &Path, together: &[&Path]) -> Option<&'static str> {
        let named = self.rules.git.named.read().unwrap_or_else(PoisonError::into_inner);
        if named.iter().any(|named| path.starts_with(named)) {
            return Some("is a control file: a git setting names it");
        }
        let (root, beneath) = root_of(&self.roots, path)?;
        if beneath.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
            return Some("is a control file: it would lead git to another directory");
        }
        let (top, handle) = (&self.roots[root].path, &self.roots[root].handle);
        let will_exist = |path: PathBuf| {
            let absolute = top.join(&path);
            together.iter().any(|one| starts_with_any_case(one, &absolute))
                || statat(handle, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        let mut above = PathBuf::new();
        for part in beneath.components() {
            let Component::Normal(name) = part else { continue };
            if is_known(name.as_encoded_bytes())
                && will_exist(above.join("HEAD"))
                && LAYOUT.iter().any(|part| will_exist(above.join(part)))
            {
                return Some(if is_one_of(&CONTROL, name.as_encoded_bytes()) {
                    "is a control file: git takes settings, programs or paths from it"
                } else {
                    "is what makes its directory a git directory, whose settings git follows"
                });
            }
            above.push(name);
        }
        None
    }
}

/// Whether a name is a part of what git looks for in a git directory.
fn is_known(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"HEAD")
        || is_one_of(&LAYOUT, name)
        || is_one_of(&CONTROL, name)
        || names::starts_with_any_case(name, SHARED_INDEX)
}

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

/// Whether a path is another one or lies below it, where the file system may not tell letter cases apart.
fn starts_with_any_case(path: &Path, above: &Path) -> bool {
    let mut parts = path.iter();
    above.iter().all(|name| parts.next().is_some_and(|part| part.eq_ignore_ascii_case(name)))
}
