//! Directories of hooks: those of a git directory, and those that an allowed setting names.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use files::roots::Lead;
use rustix::fs::FileType;

use super::super::hazard::{Hazard, What};
use super::super::tree::{is_executable, type_of};
use super::{Inspector, MAX_DEPTH};

impl Inspector<'_> {
    /// Directories of hooks that an allowed `core.hooksPath` names, from each working tree.
    pub(super) fn hooks_elsewhere(&mut self) {
        for (git, target) in std::mem::take(&mut self.hook_paths) {
            for (root, from) in self.starts(&git) {
                if let Some((to, hooks)) = self.name(root, &from, &target) {
                    self.hooks(to, &hooks, 0);
                    self.husky(to, &hooks);
                }
            }
        }
    }

    /// Of husky, git runs scripts that only run those in the directory above.
    fn husky(&mut self, root: usize, hooks: &Path) {
        let Some(above) = hooks.parent().filter(|above| above.ends_with(".husky") && hooks.ends_with("_"))
        else {
            return;
        };
        self.inspection.named.insert((root, above.to_owned()));
        let names = self.tree.names(root, above);
        for name in names.iter().flat_map(|names| names.iter()) {
            let path = above.join(name);
            let Some(stat) = self.tree.stat(root, &path).filter(|stat| !type_of(stat).is_dir()) else {
                continue;
            };
            self.add_whole(root, &path, &stat, "a git hook runs it");
        }
    }

    /// A directory of hooks; true if there are any.
    pub(super) fn hooks(&mut self, root: usize, path: &Path, depth: usize) -> bool {
        let Some(stat) = self.tree.stat(root, path) else { return false };
        match type_of(&stat) {
            FileType::Directory => {}
            FileType::Symlink => return self.link(root, path, "git runs hooks through a link", depth),
            _ => return false,
        }
        let Some(names) = self.tree.names(root, path) else {
            self.add(root, path, What::Special, "git runs what is in it, and it cannot be checked");
            return true;
        };
        let mut any = false;
        for name in names.iter().filter(|name| !name.as_bytes().ends_with(b".sample")) {
            any |= self.hook(root, &path.join(name), depth);
        }
        any
    }

    fn hook(&mut self, root: usize, path: &Path, depth: usize) -> bool {
        let Some(stat) = self.tree.stat(root, path) else { return false };
        match type_of(&stat) {
            FileType::Directory if depth < MAX_DEPTH => self.hooks(root, path, depth + 1),
            FileType::RegularFile if is_executable(&stat) => {
                self.add_whole(root, path, &stat, "git runs it as a hook");
                true
            }
            FileType::Symlink => self.link(root, path, "git runs what it leads to as a hook", depth),
            _ => false,
        }
    }

    /// A link to a hook or to a directory of hooks, and if it is allowed what it leads to.
    fn link(&mut self, root: usize, path: &Path, why: &str, depth: usize) -> bool {
        let Some(target) = self.tree.read_link(root, path) else { return false };
        let hazard = Hazard::new(root, path, What::Link(target.clone()));
        if let (true, true, Lead::Inside(to, target)) =
            (depth < MAX_DEPTH, self.is_allowed(&hazard), self.lead_of_link(root, path, &target))
        {
            self.inspection.named.insert((to, target.clone()));
            self.hook(to, &target, depth + 1);
        }
        self.insert(hazard, why);
        true
    }
}
