//! What a git directory holds besides its settings and hooks, and what makes git write or run something: the
//! index, the packed references, an interrupted rebase, remotes of the old kind, and links.

use std::path::Path;

use files::roots::Lead;
use rustix::fs::{FileType, Stat};

use super::super::git_settings::is_address_of_helper;
use super::super::hazard::What;
use super::super::rebase;
use super::super::tree::{MAX_BYTES, type_of};
use super::{Inspector, MAX_DEPTH};

impl Inspector<'_> {
    pub(super) fn contents(&mut self, root: usize, path: &Path) {
        let Some(names) = self.tree.names(root, path) else { return };
        for name in names.iter() {
            let child = path.join(name);
            // As a file system without letter cases would find them.
            let name = name.to_string_lossy().to_ascii_lowercase();
            match name.as_str() {
                "index" => self.index(root, &child),
                shared if shared.starts_with("sharedindex.") => self.index(root, &child),
                "packed-refs" => self.packed_refs(root, &child),
                "rebase-merge" => self.rebase(root, path),
                // Remotes as git kept them before its config had them.
                "branches" | "remotes" => self.old_remotes(root, &child, 0),
                "info" | "logs" => self.links(root, &child, path),
                _ => {}
            }
        }
        self.links(root, path, path);
    }

    /// git writes what the index says without looking at the paths again.
    fn index(&mut self, root: usize, path: &Path) {
        let Some(stat) = self.tree.stat(root, path).filter(|stat| type_of(stat).is_file()) else { return };
        match self.tree.forbidden_paths(root, path, &stat) {
            Ok(None) => {}
            Ok(Some(digest)) => {
                let why =
                    "git would write to paths that lead out of the working tree or into its own directory";
                self.add(root, path, What::ForbiddenPaths(digest), why);
            }
            Err(_) => {
                self.add_whole(root, path, &stat, "git writes to the paths in it, and they cannot be checked")
            }
        }
    }

    fn packed_refs(&mut self, root: usize, path: &Path) {
        let Some(stat) = self.tree.stat(root, path).filter(|stat| type_of(stat).is_file()) else { return };
        let why = "git takes names in it for paths that lead elsewhere";
        match self.tree.forbidden_refs(root, path, &stat) {
            Some(None) => {}
            Some(Some(digest)) => self.add(root, path, What::ForbiddenRefs(digest), why),
            None => self.add_whole(root, path, &stat, why),
        }
    }

    fn rebase(&mut self, root: usize, path: &Path) {
        for name in rebase::FILES {
            let path = path.join(name);
            let Some(stat) = self.tree.stat(root, &path) else { continue };
            let why = "git runs what it says when the rebase goes on";
            match (type_of(&stat), self.tree.read(root, &path)) {
                (FileType::RegularFile, Ok(bytes)) if is_whole(&stat) && !rebase::runs(name, &bytes) => {}
                (FileType::RegularFile, Ok(bytes)) if is_whole(&stat) => {
                    let digest = protocol::hash::sha256(&bytes);
                    self.add(root, &path, What::RebaseCommands(digest), why);
                }
                _ => self.add_whole(root, &path, &stat, why),
            }
        }
    }

    fn old_remotes(&mut self, root: usize, path: &Path, depth: usize) {
        let Some(names) = self.tree.names(root, path) else { return };
        for name in names.iter() {
            let path = path.join(name);
            let Some(stat) = self.tree.stat(root, &path) else { continue };
            match (type_of(&stat), self.tree.read(root, &path)) {
                (FileType::Directory, _) if depth < MAX_DEPTH => self.old_remotes(root, &path, depth + 1),
                (FileType::RegularFile, Ok(bytes)) if is_whole(&stat) && !names_helper(&bytes) => {}
                _ => self.add_whole(root, &path, &stat, "git runs a program for the address in it"),
            }
        }
    }

    /// Links to a place outside of git directories: git writes through them, and follows them.
    fn links(&mut self, root: usize, directory: &Path, git: &Path) {
        let Some(links) = self.tree.links(root, directory) else { return };
        for name in links.iter() {
            let path = directory.join(name);
            // Their own inspection looks at these.
            if directory == git && (name == "config" || name == "hooks" || name == "commondir") {
                continue;
            }
            let Some(target) = self.tree.read_link(root, &path) else { continue };
            let is_harmless = match self.lead_of_link(root, &path, &target) {
                Lead::Inside(to, target) => {
                    self.is_directory(to, &target)
                        || target
                            .ancestors()
                            .skip(1)
                            .any(|above| self.tree.stat(to, &above.join("HEAD")).is_some())
                }
                // A branch that HEAD leads to, as git once wrote it.
                Lead::Missing => target.starts_with("refs"),
                Lead::Outside => false,
            };
            if !is_harmless {
                self.add(root, &path, What::Link(target), "git follows it out of its own directory");
            }
        }
    }
}

fn is_whole(stat: &Stat) -> bool {
    u64::try_from(stat.st_size).is_ok_and(|size| size <= MAX_BYTES)
}

/// Whether a line is an address that git gives to a program.
fn names_helper(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let line = line.strip_prefix(b"URL:").unwrap_or(line).trim_ascii();
        is_address_of_helper(line)
    })
}
