//! Looks through git directories and control files for hazards.
//!
//! A git directory is any that git takes for one: by the name `.git`, by its layout, and by what a
//! `.git` file, a link, a `commondir`, a linked worktree or a submodule names. What settings that are allowed
//! name (`core.hooksPath`, `include.path`) belongs to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::roots::Lead;
use rustix::fs::{FileType, Stat};

use super::git_config::Setting;
use super::git_settings::{self, path_of};
use super::hazard::{Hazard, What};
use super::tree::{MAX_BYTES, Tree, type_of};
use crate::watch::{Entry, EntryKind};

mod brought;
mod contents;
mod hooks;
mod programs;

/// How deep configs include each other, and hooks and modules lie in directories.
const MAX_DEPTH: usize = 10;

/// A longer path is not walked, in a directory that the index does not enter.
const MAX_WALKED_BYTES: usize = 8192;

/// A longer path in a `commondir` can be shortened by git, but not be followed by us.
const MAX_POINTER_BYTES: i64 = 4096;

/// Which settings and links are followed to what they name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Allowed<'a> {
    All,
    /// Those that were there before commands ran.
    Only(Before<'a>),
}

/// What was there before commands ran.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) known: &'a BTreeSet<Hazard>,
    /// When the first of them began; none if that is unknown.
    pub(super) since: Option<SystemTime>,
    /// What earlier commands brought along, which is not the operator's.
    pub(super) brought: &'a BTreeSet<Place>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    /// Each hazard and why it is one.
    pub(super) hazards: BTreeMap<Hazard, String>,
    /// What git reads or runs because an allowed setting or link names it, whether or not it exists.
    pub(super) named: BTreeSet<(usize, PathBuf)>,
    /// The git directories that have hooks in them.
    pub(super) with_hooks: BTreeSet<(usize, PathBuf)>,
    /// Control files that are new and may stay.
    pub(super) brought: BTreeSet<Place>,
}

/// The index of a root, and a path below it.
pub(super) type Place = (usize, PathBuf);

pub(super) struct Inspector<'a> {
    tree: &'a mut Tree,
    allowed: Allowed<'a>,
    inspection: Inspection,
    seen: BTreeSet<Place>,
    todo: Vec<Place>,
    /// The working trees of each git directory.
    worktrees: BTreeMap<Place, BTreeSet<Place>>,
    /// The common directory of each git directory that has another.
    common: BTreeMap<Place, Place>,
    /// Values of `core.hooksPath` that are followed, by git directory.
    hook_paths: BTreeSet<(Place, PathBuf)>,
    /// Allowed settings that may name programs, by git directory.
    program_settings: BTreeSet<(Place, Setting)>,
    /// Configs that were read, so that a circle of them ends.
    configs: BTreeSet<Place>,
}

impl<'a> Inspector<'a> {
    pub(super) fn inspect(tree: &'a mut Tree, allowed: Allowed<'a>, found: &[Entry]) -> Inspection {
        let mut inspector = Self {
            tree,
            allowed,
            inspection: Inspection::default(),
            seen: BTreeSet::new(),
            todo: Vec::new(),
            worktrees: BTreeMap::new(),
            common: BTreeMap::new(),
            hook_paths: BTreeSet::new(),
            program_settings: BTreeSet::new(),
            configs: BTreeSet::new(),
        };
        for Entry { root, path, kind, .. } in found {
            let root = *root;
            // Commands change nothing in what they may only read.
            if !inspector.tree.has_root(root) {
                continue;
            }
            match kind {
                EntryKind::DotGit => inspector.dot_git(root, path),
                EntryKind::GitDirectory => inspector.todo.push((root, path.to_owned())),
                EntryKind::Denied => inspector.denied(root, path),
                EntryKind::Unreadable => {
                    inspector.add(root, path, What::Unseen, "nothing in it can be checked");
                }
                EntryKind::Control if is_inside_git(path) => {}
                EntryKind::Control => inspector.control(root, path),
                EntryKind::NamesDenied | EntryKind::Socket | EntryKind::TooDeep => {}
            }
        }
        while let Some((root, path)) = inspector.todo.pop() {
            inspector.git_directory(root, &path);
        }
        inspector.hooks_elsewhere();
        inspector.programs();
        inspector.inspection
    }

    /// Git directories in a directory with a denied name: the first command that makes it is not kept out.
    fn denied(&mut self, root: usize, path: &Path) {
        let mut directories = vec![path.to_owned()];
        while let Some(path) = directories.pop() {
            if !self.is_directory(root, &path) {
                continue;
            }
            let is_short = path.as_os_str().len() <= MAX_WALKED_BYTES;
            let Some(names) = self.tree.names(root, &path).filter(|_| is_short) else {
                self.add(root, &path, What::Unseen, "nothing in it can be checked");
                continue;
            };
            let has = |name: &str| names.iter().any(|entry| entry == name);
            if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
                self.todo.push((root, path));
                continue;
            }
            for name in names.iter() {
                let path = path.join(name);
                if name.eq_ignore_ascii_case(".git") {
                    self.dot_git(root, &path);
                } else {
                    directories.push(path);
                }
            }
        }
    }

    /// An entry called `.git`: a git directory, or what leads to one.
    fn dot_git(&mut self, root: usize, path: &Path) {
        let Some(stat) = self.tree.stat(root, path) else { return };
        let parent = path.parent().unwrap_or(Path::new(""));
        let lead = match type_of(&stat) {
            FileType::Directory => Lead::Inside(root, path.to_owned()),
            FileType::Symlink => match self.tree.read_link(root, path) {
                Some(target) => self.lead_of_link(root, path, &target),
                None => return,
            },
            FileType::RegularFile => match self.pointer(root, path, b"gitdir: ") {
                Some(target) => self.tree.lead(root, parent, &target),
                None => return,
            },
            _ => return self.add(root, path, What::Special, "git opens it"),
        };
        match lead {
            Lead::Inside(to, directory) => {
                let place = (to, directory);
                self.worktrees.entry(place.clone()).or_default().insert((root, parent.to_owned()));
                if type_of(&stat) == FileType::Symlink
                    && self.tree.stat(place.0, &place.1).is_some_and(|stat| type_of(&stat).is_file())
                {
                    self.dot_git(place.0, &place.1);
                }
                self.todo.push(place);
            }
            Lead::Missing => {}
            Lead::Outside => self.add_whole(root, path, &stat, "it leads git out of the roots"),
        }
    }

    fn git_directory(&mut self, root: usize, path: &Path) {
        let place = (root, path.to_owned());
        if !self.seen.insert(place.clone()) || !self.is_directory(root, path) {
            return;
        }
        self.common_directory(root, path, &place);
        for name in ["config", "config.worktree", "sequencer/opts"] {
            self.config(root, &path.join(name), &place, 0);
        }
        let hooks = path.join("hooks");
        if self.hooks(root, &hooks, 0) {
            self.inspection.with_hooks.insert(place);
        }
        self.contents(root, path);
        self.children(root, &path.join("worktrees"), false, 0);
        self.children(root, &path.join("modules"), true, 0);
    }

    fn common_directory(&mut self, root: usize, path: &Path, place: &Place) {
        let pointer = path.join("commondir");
        let Some(stat) = self.tree.stat(root, &pointer) else { return };
        let why = "it leads git to another directory for its settings and hooks";
        let target = match type_of(&stat) {
            FileType::RegularFile => self.pointer(root, &pointer, b""),
            _ => return self.add_whole(root, &pointer, &stat, why),
        };
        if stat.st_size > MAX_POINTER_BYTES {
            return self.add_whole(root, &pointer, &stat, why);
        }
        match target.map(|target| self.tree.lead(root, path, &target)) {
            Some(Lead::Inside(to, common)) => {
                self.common.insert(place.clone(), (to, common.clone()));
                self.todo.push((to, common));
            }
            Some(Lead::Missing) | None => {}
            Some(Lead::Outside) => self.add_whole(root, &pointer, &stat, why),
        }
    }

    /// Git directories below `worktrees`, or at any depth below `modules`.
    fn children(&mut self, root: usize, path: &Path, nested: bool, depth: usize) {
        let Some(names) = self.tree.names(root, path) else { return };
        for name in names.iter() {
            let child = path.join(name);
            if !self.is_directory(root, &child) {
                continue;
            }
            let is_git = self.tree.stat(root, &child.join("HEAD")).is_some();
            if nested && !is_git && depth < MAX_DEPTH {
                self.children(root, &child, nested, depth + 1);
            }
            self.todo.push((root, child));
        }
    }

    fn config(&mut self, root: usize, path: &Path, git: &Place, depth: usize) {
        if !self.configs.insert((root, path.to_owned())) {
            return;
        }
        let Some(stat) = self.tree.stat(root, path) else { return };
        match type_of(&stat) {
            FileType::RegularFile => {}
            FileType::Directory => return,
            FileType::Symlink => {
                let Some(target) = self.tree.read_link(root, path) else { return };
                let link = Hazard::new(root, path, What::Link(target.clone()));
                if let (true, Lead::Inside(to, target)) =
                    (self.is_allowed(&link), self.lead_of_link(root, path, &target))
                {
                    self.inspection.named.insert((to, target.clone()));
                    self.config(to, &target, git, depth + 1);
                }
                return self.insert(link, "git reads its settings through a link");
            }
            _ => return self.add(root, path, What::Special, "git reads it"),
        }
        if u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_BYTES) {
            return self.add_whole(root, path, &stat, "git reads more settings in it than can be checked");
        }
        let Some(config) = self.tree.config(root, path, &stat) else {
            return self.add(root, path, What::Special, "git reads its settings, and they cannot be checked");
        };
        if config.broken_at.is_some() {
            let why = "git may read settings in it that cannot be checked";
            match self.tree.digest(root, path, &stat) {
                Some(digest) => self.add(root, path, What::UnreadableConfig(digest), why),
                None => self.add(root, path, What::Special, why),
            }
        }
        for (setting, _) in &config.settings {
            let leads_out = |to: &PathBuf| self.tree.lead(git.0, &git.1, to) == Lead::Outside;
            let Some(why) = git_settings::danger(setting, leads_out) else { continue };
            let hazard = Hazard::new(root, path, What::Setting(setting.clone()));
            if self.is_allowed(&hazard) {
                self.follow(root, path, git, &hazard, depth);
            }
            self.insert(hazard, why);
        }
    }

    /// Follows an allowed setting to the files that it names.
    fn follow(&mut self, root: usize, path: &Path, git: &Place, hazard: &Hazard, depth: usize) {
        let What::Setting(setting) = &hazard.what else { return };
        let Some(value) = &setting.value else { return };
        let target = path_of(value);
        match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", "path") if depth < MAX_DEPTH => {
                let from = path.parent().unwrap_or(Path::new(""));
                if let Some((to, target)) = self.name(root, from, &target) {
                    self.config(to, &target, git, depth + 1);
                }
            }
            ("core", "hookspath") => {
                self.hook_paths.insert((git.clone(), target));
            }
            ("include" | "includeif", _) | ("core", "worktree") => {}
            _ => {
                self.program_settings.insert((git.clone(), setting.clone()));
            }
        }
    }

    /// Where a relative path in the settings of a git directory begins: there, and in each working tree.
    fn starts(&self, git: &Place) -> BTreeSet<Place> {
        let mut starts = BTreeSet::from([git.clone()]);
        for (place, worktrees) in &self.worktrees {
            if place == git || self.common.get(place) == Some(git) {
                starts.extend(worktrees.iter().cloned());
            }
        }
        starts
    }

    /// The place that a setting names, which becomes a control file. One that does not exist yet is named as
    /// it is written.
    fn name(&mut self, root: usize, from: &Path, target: &Path) -> Option<Place> {
        let place = match self.tree.lead(root, from, target) {
            Lead::Inside(to, path) => (to, path),
            Lead::Missing => (root, files::roots::lexically_clean(&from.join(target))),
            Lead::Outside => return None,
        };
        self.inspection.named.insert(place.clone());
        Some(place)
    }

    /// A control file by its name, or a directory with everything in it.
    fn control(&mut self, root: usize, path: &Path) {
        let Some(stat) = self.tree.stat(root, path) else { return };
        let why = "other programs run what it says";
        if self.is_brought_along(root, path, &stat, 0) {
            self.inspection.brought.insert((root, path.to_owned()));
            return;
        }
        if type_of(&stat) != FileType::Directory {
            return self.add_whole(root, path, &stat, why);
        }
        let hazard = Hazard::new(root, path, What::Directory);
        // A new directory goes as a whole, so its entries need not be known.
        let is_allowed = self.is_allowed(&hazard);
        self.insert(hazard, why);
        if is_allowed {
            for name in self.tree.names(root, path).iter().flat_map(|names| names.iter()) {
                self.control(root, &path.join(name));
            }
        }
    }

    /// The path in a file of one line.
    fn pointer(&self, root: usize, path: &Path, prefix: &[u8]) -> Option<PathBuf> {
        let bytes = self.tree.read(root, path).ok()?;
        let line = bytes.strip_prefix(prefix)?;
        let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        Some(PathBuf::from(OsStr::from_bytes(&line[..end])))
    }

    fn lead_of_link(&self, root: usize, path: &Path, target: &Path) -> Lead {
        self.tree.lead(root, path.parent().unwrap_or(Path::new("")), target)
    }

    fn is_directory(&self, root: usize, path: &Path) -> bool {
        self.tree.stat(root, path).is_some_and(|stat| type_of(&stat).is_dir())
    }

    fn is_allowed(&self, hazard: &Hazard) -> bool {
        match self.allowed {
            Allowed::All => true,
            Allowed::Only(before) => before.known.contains(hazard),
        }
    }

    /// A file, link or anything else that is a hazard as a whole.
    fn add_whole(&mut self, root: usize, path: &Path, stat: &Stat, why: &str) {
        let what = match type_of(stat) {
            FileType::RegularFile => self.tree.digest(root, path, stat).map_or(What::Special, What::File),
            FileType::Symlink => self.tree.read_link(root, path).map_or(What::Special, What::Link),
            FileType::Directory => What::Directory,
            _ => What::Special,
        };
        self.add(root, path, what, why);
    }

    fn add(&mut self, root: usize, path: &Path, what: What, why: &str) {
        self.insert(Hazard::new(root, path, what), why);
    }

    fn insert(&mut self, hazard: Hazard, why: impl Into<String>) {
        self.inspection.hazards.entry(hazard).or_insert_with(|| why.into());
    }
}

/// Whether a control file by its name is one that the inspection of git directories looks at itself.
fn is_inside_git(path: &Path) -> bool {
    let mut above = path.iter().rev();
    let own = ["hooks", "config", "commondir"];
    above.next().is_some_and(|name| own.iter().any(|own| name.eq_ignore_ascii_case(own)))
        && above.any(|name| name.eq_ignore_ascii_case(".git"))
}
