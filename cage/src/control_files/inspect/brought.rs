//! Control files that a command may leave: copies of what was there before, and what a clone brings for
//! itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use files::roots::ControlFiles;
use rustix::fs::Stat;

use super::super::hazard::{Hazard, What};
use super::super::tree::type_of;
use super::{Allowed, Inspector, MAX_DEPTH};

impl Inspector<'_> {
    /// Whether an entry is honest though it is new: it has the name and content of a control file that was
    /// there before, or it is a project's setting in a working tree that is new as well. A directory is if
    /// all in it is.
    pub(super) fn is_brought_along(&mut self, root: usize, path: &Path, stat: &Stat, depth: usize) -> bool {
        let Allowed::Only(before) = self.allowed else { return false };
        let file_type = type_of(stat);
        if file_type.is_dir() {
            let is_known = before.known.contains(&Hazard::new(root, path, What::Directory));
            return !is_known && depth < MAX_DEPTH && self.are_all_brought_along(root, path, depth);
        }
        if !file_type.is_file() {
            return false;
        }
        let was_brought = || path.ancestors().any(|above| before.brought.contains(&(root, above.to_owned())));
        let is_new = || before.since.is_some_and(|since| self.tree.is_in_new_clone(root, path, since));
        ControlFiles::is_of_project(path) && (was_brought() || is_new())
            || self.tree.digest(root, path, stat).is_some_and(|digest| is_copy(before.known, path, &digest))
    }

    fn are_all_brought_along(&mut self, root: usize, path: &Path, depth: usize) -> bool {
        let Some(names) = self.tree.names(root, path) else { return false };
        !names.is_empty()
            && names.iter().all(|name| {
                let path = path.join(name);
                let Some(stat) = self.tree.stat(root, &path) else { return false };
                self.is_brought_along(root, &path, &stat, depth + 1)
            })
    }
}

fn is_copy(known: &BTreeSet<Hazard>, path: &Path, digest: &str) -> bool {
    let name: Option<&OsStr> = path.file_name();
    known.iter().any(|hazard| hazard.what == What::File(digest.to_owned()) && hazard.path.file_name() == name)
}
