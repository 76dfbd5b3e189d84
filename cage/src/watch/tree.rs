//! The directories of the roots, as they were last read. Data only: this module touches no file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use rustix::fs::{FileType, Stat};

use super::rules::is_git_layout;
use super::snapshot::{Entry, EntryKind};

/// A directory's place in the tree. It is used again once its directory is gone.
pub(super) type Id = usize;

/// Device, inode and change time: tells a directory from another one, and from itself before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) changed_seconds: i64,
    pub(super) changed_nanoseconds: u64,
}

impl Identity {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed_seconds: stat.st_ctime,
            changed_nanoseconds: stat.st_ctime_nsec,
        }
    }

    pub(super) fn same_file(self, other: Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// An entry of a directory that is of interest.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: EntryKind,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) file_type: FileType,
    pub(super) seen: u64,
}

#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) root: usize,
    pub(super) parent: Option<Id>,
    pub(super) name: Box<OsStr>,
    /// The length of its path, in bytes.
    pub(super) path_bytes: usize,
    /// The first on its path that no mount can name.
    pub(super) begins_too_deep: bool,
    /// None until it is read for the first time.
    pub(super) identity: Option<Identity>,
    /// Whether a later change cannot have the change time that it had when it was read.
    pub(super) settled: bool,
    /// On a file system that others may change unseen by this kernel.
    pub(super) remote: bool,
    pub(super) watch: Option<i32>,
    /// Its entries cannot be looked at.
    pub(super) unreadable: bool,
    /// Which names of a repository's layout it has.
    pub(super) layout: u8,
    pub(super) seen: u64,
    pub(super) found: BTreeMap<Box<OsStr>, Found>,
    pub(super) children: BTreeMap<Box<OsStr>, Id>,
}

impl Directory {
    pub(super) fn is_interesting(&self) -> bool {
        self.unreadable || self.begins_too_deep || !self.found.is_empty() || is_git_layout(self.layout)
    }

    /// Whether it must be asked for its change time, because changes are not reported.
    pub(super) fn is_polled(&self) -> bool {
        self.unreadable || self.remote || self.watch.is_none()
    }
}

#[derive(Debug, Default)]
pub(super) struct Tree {
    directories: Vec<Option<Directory>>,
    free: Vec<Id>,
    by_watch: HashMap<i32, Vec<Id>>,
    polled: BTreeSet<Id>,
    interesting: BTreeSet<Id>,
}

impl Tree {
    pub(super) fn insert(&mut self, directory: Directory) -> Id {
        let (parent, name) = (directory.parent, directory.name.clone());
        let id = match self.free.pop() {
            Some(id) => {
                self.directories[id] = Some(directory);
                id
            }
            None => {
                self.directories.push(Some(directory));
                self.directories.len() - 1
            }
        };
        if let Some(parent) = parent.and_then(|parent| self.get_mut(parent)) {
            parent.children.insert(name, id);
        }
        id
    }

    pub(super) fn get(&self, id: Id) -> Option<&Directory> {
        self.directories.get(id)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Directory> {
        self.directories.get_mut(id)?.as_mut()
    }

    pub(super) fn ids(&self) -> Vec<Id> {
        (0..self.directories.len()).filter(|id| self.directories[*id].is_some()).collect()
    }

    pub(super) fn polled(&self) -> Vec<Id> {
        self.polled.iter().copied().collect()
    }

    pub(super) fn at_watch(&self, watch: i32) -> &[Id] {
        self.by_watch.get(&watch).map_or(&[], Vec::as_slice)
    }

    /// Removes a directory and everything below it. Returns the watches that nothing needs any more, and
    /// whether anything of interest was in it.
    pub(super) fn remove(&mut self, id: Id) -> (Vec<i32>, bool) {
        let (mut unneeded, mut interesting) = (Vec::new(), false);
        let parent = self.get(id).and_then(|directory| Some((directory.parent?, directory.name.clone())));
        if let Some((parent, name)) = parent
            && let Some(parent) = self.get_mut(parent)
            && parent.children.get(&name) == Some(&id)
        {
            parent.children.remove(&name);
        }
        let mut below = vec![id];
        while let Some(id) = below.pop() {
            unneeded.extend(self.set_watch(id, None));
            self.polled.remove(&id);
            interesting |= self.interesting.remove(&id);
            if let Some(directory) = self.directories.get_mut(id).and_then(Option::take) {
                below.extend(directory.children.into_values());
                self.free.push(id);
            }
        }
        (unneeded, interesting)
    }

    /// Sets or clears the watch of a directory. Returns the one that nothing needs any more.
    pub(super) fn set_watch(&mut self, id: Id, watch: Option<i32>) -> Option<i32> {
        let directory = self.get_mut(id)?;
        let before = std::mem::replace(&mut directory.watch, watch);
        if before == watch {
            return None;
        }
        if let Some(watch) = watch {
            self.by_watch.entry(watch).or_default().push(id);
        }
        let before = before?;
        let shared = self.by_watch.get_mut(&before)?;
        shared.retain(|other| *other != id);
        let unneeded = shared.is_empty();
        if unneeded {
            self.by_watch.remove(&before);
        }
        unneeded.then_some(before)
    }

    /// The kernel has dropped a watch. Returns the directories that had it.
    pub(super) fn unwatched(&mut self, watch: i32) -> Vec<Id> {
        let ids = self.by_watch.remove(&watch).unwrap_or_default();
        for id in &ids {
            if let Some(directory) = self.get_mut(*id) {
                directory.watch = None;
            }
        }
        ids
    }

    /// Brings the lists up to date after a directory was looked at. Returns whether it is or was of interest.
    pub(super) fn note(&mut self, id: Id) -> bool {
        let Some(directory) = self.get(id) else { return false };
        let (interesting, polled) = (directory.is_interesting(), directory.is_polled());
        if polled {
            self.polled.insert(id);
        } else {
            self.polled.remove(&id);
        }
        if interesting {
            self.interesting.insert(id);
            return true;
        }
        self.interesting.remove(&id)
    }

    /// The path below the root; empty for the root itself.
    pub(super) fn path(&self, id: Id) -> PathBuf {
        let mut names: Vec<&OsStr> = Vec::new();
        let mut next = Some(id);
        while let Some(directory) = next.and_then(|id| self.get(id)) {
            if directory.parent.is_some() {
                names.push(&directory.name);
            }
            next = directory.parent;
        }
        let mut path = OsString::new();
        for name in names.into_iter().rev() {
            if !path.is_empty() {
                path.push("/");
            }
            path.push(name);
        }
        path.into()
    }

    /// Everything of interest, sorted. `naming_parents` says how many directories above a denied entry count.
    pub(super) fn entries(&self, naming_parents: &dyn Fn(&std::path::Path) -> usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        for id in &self.interesting {
            let Some(directory) = self.get(*id) else { continue };
            if directory.unreadable {
                entries.extend(self.entry_of(*id, EntryKind::Unreadable));
            }
            if directory.begins_too_deep {
                entries.extend(self.entry_of(*id, EntryKind::TooDeep));
            }
            if is_git_layout(directory.layout) {
                entries.extend(self.entry_of(*id, EntryKind::GitDirectory));
            }
            let path = self.path(*id);
            for (name, found) in &directory.found {
                let entry = entry(directory.root, path.join(&**name), found);
                if found.kind == EntryKind::Denied {
                    let above = std::iter::successors(Some(*id), |id| self.get(*id)?.parent);
                    let above = above.take(naming_parents(&entry.path));
                    entries.extend(above.filter_map(|id| self.entry_of(id, EntryKind::NamesDenied)));
                }
                entries.push(entry);
            }
        }
        entries.sort_unstable_by(|a, b| (a.root, &a.path, a.kind).cmp(&(b.root, &b.path, b.kind)));
        entries.dedup();
        entries
    }

    fn entry_of(&self, id: Id, kind: EntryKind) -> Option<Entry> {
        let directory = self.get(id)?;
        // Nothing has the inode number 0, so a mount over what could never be identified fails.
        let Identity { device, inode, .. } = directory.identity.unwrap_or_default();
        let found = Found { kind, device, inode, file_type: FileType::Directory, seen: directory.seen };
        Some(entry(directory.root, self.path(id), &found))
    }
}

fn entry(root: usize, path: PathBuf, found: &Found) -> Entry {
    let Found { kind, device, inode, file_type, seen } = *found;
    Entry { root, path, kind, device, inode, file_type, seen }
}
