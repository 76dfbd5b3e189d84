//! Keeps the tree true: takes the kernel's reports of changes and looks again at what they name.
//!
//! A directory is watched first and read then, so nothing that comes between is missed. What happened while
//! we looked is in the queue, so we look until the queue stays empty. A report is only a reason to look: what
//! counts is the state now.

mod polling;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;

use super::queue::{Change, Queue};
use super::rules::{Rules, layout_bit};
use super::snapshot::{EntryKind, Snapshot};
use super::tree::{Directory, Found, Id, Identity, Tree};
use super::{WatchError, WatchedRoot, file_system};

/// How often we look again because something changed meanwhile.
const MAX_ROUNDS: usize = 100;

/// How many names of a directory are looked at one by one before the whole directory is read.
const MAX_NAMES: usize = 1000;

/// A directory with a longer path is hidden whole, though it is looked into: mounts need a whole path, of at
/// most 4095 bytes.
const MAX_PATH_BYTES: usize = 3500;

/// A directory with a longer path is not looked into. No program can name it, and to walk a path for each
/// directory in it takes time that grows with its square.
const MAX_WALKED_BYTES: usize = 8192;

/// What to look at again in a directory.
#[derive(Debug)]
enum Stale {
    Names(BTreeSet<OsString>),
    Everything,
}

#[derive(Debug)]
pub(super) struct Index {
    roots: Vec<WatchedRoot>,
    rules: Rules,
    queue: Option<Queue>,
    tree: Tree,
    stale: BTreeMap<Id, Stale>,
    overflowed: bool,
    /// Whether the snapshot is out of date.
    changed: bool,
    /// Counts the looks, to tell an entry from an earlier one.
    seen: u64,
    told_of_limit: bool,
    /// Files that are denied by their names unless they hold certificates alone, as they were when we looked.
    judged: BTreeMap<(Id, OsString), Identity>,
    snapshot: Arc<Snapshot>,
}

impl Index {
    /// Without a queue, every directory is asked for its change time.
    pub(super) fn new(roots: Vec<WatchedRoot>, rules: Rules, queue: Option<Queue>) -> Self {
        let snapshot =
            Snapshot { roots: roots.iter().map(|root| root.path.clone()).collect(), entries: vec![] };
        let mut index = Self {
            roots,
            rules,
            queue,
            tree: Tree::default(),
            stale: BTreeMap::new(),
            overflowed: false,
            changed: true,
            seen: 0,
            told_of_limit: false,
            judged: BTreeMap::new(),
            snapshot: Arc::new(snapshot),
        };
        for root in 0..index.roots.len() {
            let id = index.tree.insert(Directory { root, ..Directory::default() });
            index.stale.insert(id, Stale::Everything);
        }
        index
    }

    pub(super) fn queue(&self) -> Option<&Queue> {
        self.queue.as_ref()
    }

    /// Looks at all that changed since the last time. The same snapshot, if nothing of interest did.
    pub(super) fn refresh(&mut self) -> Result<Arc<Snapshot>, WatchError> {
        self.poll();
        self.poll_judged();
        for _ in 0..MAX_ROUNDS {
            self.drain()?;
            if std::mem::take(&mut self.overflowed) {
                self.check_all();
            }
            if self.stale.is_empty() {
                self.poll_moved();
                if self.stale.is_empty() {
                    return self.current();
                }
            }
            self.look_at_stale()?;
        }
        Err(WatchError::Restless)
    }

    fn current(&mut self) -> Result<Arc<Snapshot>, WatchError> {
        if self.changed {
            let entries = self.tree.entries(&self.rules.naming_parents);
            let unreadable =
                entries.iter().find(|e| e.kind == EntryKind::Unreadable && e.path.as_os_str().is_empty());
            if let Some(entry) = unreadable {
                return Err(WatchError::Unreadable(self.roots[entry.root].path.clone()));
            }
            let roots = self.snapshot.roots.clone();
            self.snapshot = Arc::new(Snapshot { entries, roots });
            self.changed = false;
        }
        Ok(Arc::clone(&self.snapshot))
    }

    /// Takes the reports out of the kernel's queue.
    pub(super) fn drain(&mut self) -> Result<(), WatchError> {
        let Self { queue: Some(queue), tree, stale, overflowed, .. } = self else {
            return Ok(());
        };
        let taken = queue.drain(|change| match change {
            Change::Overflow => *overflowed = true,
            // With no name to examine, the look is only whether the directory can be opened.
            Change::Rights { watch } => {
                for id in tree.at_watch(watch) {
                    stale.entry(*id).or_insert_with(|| Stale::Names(BTreeSet::new()));
                }
            }
            Change::Unwatched { watch } => {
                stale.extend(tree.unwatched(watch).into_iter().map(|id| (id, Stale::Everything)));
            }
            // Also of an ordinary name: it may be a socket's.
            Change::Entry { watch, name } => {
                for id in tree.at_watch(watch).iter().filter(|id| tree.get(**id).is_some()) {
                    mark(stale, *id, name.clone());
                }
            }
        });
        taken.map_err(|error| WatchError::Io(error.into()))
    }

    fn look_at_stale(&mut self) -> Result<(), WatchError> {
        self.seen += 1;
        let mut appeared = Vec::new();
        for (id, stale) in std::mem::take(&mut self.stale) {
            self.look(id, &stale, &mut appeared)?;
            // Depth first, and at once: new directories need their watches soon.
            while let Some(id) = appeared.pop() {
                self.look(id, &Stale::Everything, &mut appeared)?;
            }
        }
        Ok(())
    }

    fn look(&mut self, id: Id, stale: &Stale, appeared: &mut Vec<Id>) -> Result<(), WatchError> {
        let Some(directory) = self.tree.get(id) else { return Ok(()) };
        if directory.path_bytes > MAX_WALKED_BYTES {
            self.give_up(id);
            return Ok(());
        }
        // By name, each entry of interest says by itself what changed.
        let is_known = directory.identity.is_some() && !directory.unreadable;
        let by_name = matches!(stale, Stale::Names(_)) && is_known;
        let layout_before = directory.layout;
        let path = self.tree.path(id);
        let looked = self.open(id, &path).and_then(|handle| match handle {
            None => Ok(false),
            Some(handle) => match stale {
                Stale::Names(names) if by_name => {
                    let mut names = names.iter();
                    names
                        .try_for_each(|name| self.examine(id, &handle, &path, name, None, appeared))
                        .map(|()| true)
                }
                Stale::Names(_) | Stale::Everything => self.read(id, &handle, &path, appeared).map(|()| true),
            },
        });
        match looked {
            Ok(true) => {
                let is_noted = self.tree.note(id);
                let layout = self.tree.get(id).map(|directory| directory.layout);
                self.changed |= is_noted && (!by_name || layout != Some(layout_before));
            }
            Ok(false) => self.lost(id),
            Err(error) if file_system::is_gone(error) => self.lost(id),
            Err(error) if file_system::is_ours(error) => {
                self.stale.insert(id, Stale::Everything);
                return Err(WatchError::Io(error.into()));
            }
            Err(_) => self.give_up(id),
        }
        Ok(())
    }

    /// Opens a directory; none if another one is in its place.
    fn open(&mut self, id: Id, path: &Path) -> Result<Option<OwnedFd>, Errno> {
        let Some(directory) = self.tree.get(id) else { return Ok(None) };
        let handle = file_system::open(self.roots[directory.root].handle.as_fd(), path)?;
        if let Some(before) = directory.identity
            && !before.same_file(Identity::of(&fstat(&handle)?))
        {
            return Ok(None);
        }
        Ok(Some(handle))
    }

    /// Watches and reads a whole directory.
    fn read(&mut self, id: Id, handle: &OwnedFd, path: &Path, appeared: &mut Vec<Id>) -> Result<(), Errno> {
        self.watch(id, handle)?;
        let identity = Identity::of(&fstat(handle)?);
        let Some(directory) = self.tree.get(id) else { return Ok(()) };
        let parent = directory.parent.and_then(|parent| self.tree.get(parent));
        let remote = match parent.and_then(|parent| Some((parent.identity?.device, parent.remote))) {
            Some((device, remote)) if device == identity.device => remote,
            _ => file_system::is_remote(handle),
        };
        let seen = self.seen;
        let Some(directory) = self.tree.get_mut(id) else { return Ok(()) };
        directory.identity = Some(identity);
        directory.settled = file_system::has_settled(identity);
        directory.remote = remote;
        directory.unreadable = false;
        directory.seen = seen;
        directory.layout = 0;
        let mut gone: BTreeSet<Box<OsStr>> = directory.children.keys().cloned().collect();
        gone.extend(directory.found.keys().cloned());
        for entry in Dir::read_from(handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                gone.remove(name);
                self.examine(id, handle, path, name, Some((entry.file_type(), entry.ino())), appeared)?;
            }
        }
        for name in gone {
            self.forget(id, &name);
        }
        Ok(())
    }

    fn watch(&mut self, id: Id, handle: &OwnedFd) -> Result<(), Errno> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let watch = match queue.watch(handle.as_fd()) {
            Ok(watch) => Some(watch),
            Err(error) if file_system::is_gone(error) => return Err(error),
            Err(error) => {
                if !std::mem::replace(&mut self.told_of_limit, true) {
                    tracing::warn!(
                        %error,
                        "not every directory of the roots can be watched, so commands take longer; raise \
                         fs.inotify.max_user_watches"
                    );
                }
                None
            }
        };
        if let Some(unneeded) = self.tree.set_watch(id, watch) {
            queue.unwatch(unneeded);
        }
        Ok(())
    }

    /// Looks at one entry. `known` is its type and inode number, if it was just read from the directory.
    fn examine(
        &mut self,
        id: Id,
        handle: &OwnedFd,
        path: &Path,
        name: &OsStr,
        known: Option<(FileType, u64)>,
        appeared: &mut Vec<Id>,
    ) -> Result<(), Errno> {
        let Some(directory) = self.tree.get(id) else { return Ok(()) };
        let writable = self.roots[directory.root].writable;
        let matters = self.rules.may_matter(name.as_bytes(), writable);
        if let Some(known) = known
            && !matters
            && self.takes_as_known(id, name, known, appeared)
        {
            return Ok(());
        }
        let Some(stat) = file_system::entry(handle, name)? else {
            self.forget(id, name);
            return Ok(());
        };
        let (identity, file_type) = (Identity::of(&stat), FileType::from_raw_mode(stat.st_mode));
        let path = path.join(name);
        let mut kind = if matters { self.rules.kind(&path, writable) } else { None };
        if kind == Some(EntryKind::Denied)
            && file_type == FileType::RegularFile
            && self.is_certificate(id, handle, name, identity)
        {
            kind = None;
        }
        if file_type == FileType::Socket && kind != Some(EntryKind::Denied) {
            kind = Some(EntryKind::Socket);
        }
        self.record(id, name, kind, identity, file_type);
        if file_type != FileType::Directory || kind == Some(EntryKind::Denied) {
            self.leave(id, name);
        } else if !self.has_child(id, name, |before| before.same_file(identity)) {
            self.enter(id, name, Some(identity), appeared);
        } else if known.is_none() {
            // It may have been away, or be another one with the same number.
            appeared.extend(self.tree.get(id).and_then(|directory| directory.children.get(name)));
        }
        Ok(())
    }

    /// Takes up or forgets an entry whose name is ordinary by its type and inode number alone. False where
    /// only a look at the entry itself can tell whether it is of interest.
    fn takes_as_known(
        &mut self,
        id: Id,
        name: &OsStr,
        (file_type, inode): (FileType, u64),
        appeared: &mut Vec<Id>,
    ) -> bool {
        if file_type == FileType::Directory {
            if !self.has_child(id, name, |identity| identity.inode == inode) {
                self.enter(id, name, None, appeared);
            }
            return true;
        }
        // Only a look at the entry itself tells what `Unknown` is.
        let is_ordinary = !matches!(file_type, FileType::Socket | FileType::Unknown);
        if is_ordinary {
            self.forget(id, name);
        }
        is_ordinary
    }

    fn has_child(&self, id: Id, name: &OsStr, is_same: impl Fn(Identity) -> bool) -> bool {
        let child = self.tree.get(id).and_then(|directory| directory.children.get(name));
        child.and_then(|child| self.tree.get(*child)?.identity).is_some_and(is_same)
    }

    /// Notes why an entry is of interest, or that it is not.
    fn record(
        &mut self,
        id: Id,
        name: &OsStr,
        kind: Option<EntryKind>,
        identity: Identity,
        file_type: FileType,
    ) {
        let (seen, writable) = (self.seen, self.tree.get(id).is_some_and(|it| self.roots[it.root].writable));
        let Some(directory) = self.tree.get_mut(id) else { return };
        if writable {
            directory.layout |= layout_bit(name.as_bytes()).unwrap_or(0);
        }
        self.changed |= match kind {
            None => directory.found.remove(name).is_some(),
            Some(kind) => {
                let Identity { device, inode, .. } = identity;
                let found = Found { kind, device, inode, file_type, seen };
                directory.found.insert(name.into(), found);
                true
            }
        };
    }

    /// Takes up a directory that was not there before.
    fn enter(&mut self, parent: Id, name: &OsStr, identity: Option<Identity>, appeared: &mut Vec<Id>) {
        self.leave(parent, name);
        let Some(above) = self.tree.get(parent) else { return };
        let path_bytes = above.path_bytes + 1 + name.len();
        let directory = Directory {
            root: above.root,
            parent: Some(parent),
            name: name.into(),
            path_bytes,
            begins_too_deep: path_bytes > MAX_PATH_BYTES && above.path_bytes <= MAX_PATH_BYTES,
            identity,
            ..Directory::default()
        };
        appeared.push(self.tree.insert(directory));
    }

    /// Drops a directory with everything below it.
    fn leave(&mut self, parent: Id, name: &OsStr) {
        if let Some(id) = self.tree.get(parent).and_then(|parent| parent.children.get(name)) {
            self.drop_below(*id);
        }
    }

    /// An entry is gone, or no longer of interest.
    fn forget(&mut self, id: Id, name: &OsStr) {
        self.leave(id, name);
        let Some(directory) = self.tree.get_mut(id) else { return };
        directory.layout &= !layout_bit(name.as_bytes()).unwrap_or(0);
        self.changed |= directory.found.remove(name).is_some();
    }

    fn drop_below(&mut self, id: Id) {
        let (unneeded, interesting) = self.tree.remove(id);
        self.changed |= interesting;
        if let Some(queue) = &self.queue {
            unneeded.into_iter().for_each(|watch| queue.unwatch(watch));
        }
    }

    /// A directory is not where it was. Its parent is looked at again.
    fn lost(&mut self, id: Id) {
        let place = self.tree.get(id).and_then(|it| Some((it.parent?, it.name.to_os_string())));
        match place {
            Some((parent, name)) => {
                self.drop_below(id);
                mark(&mut self.stale, parent, name);
            }
            None => self.give_up(id),
        }
    }

    /// The content of a directory is unknown: all of it must be hidden. It is asked again every time.
    fn give_up(&mut self, id: Id) {
        let Some(directory) = self.tree.get_mut(id) else { return };
        let children: Vec<Id> = std::mem::take(&mut directory.children).into_values().collect();
        directory.found.clear();
        directory.layout = 0;
        directory.unreadable = true;
        directory.seen = self.seen;
        let root = self.roots[directory.root].handle.as_fd();
        let identity = file_system::identity(root, &self.tree.path(id)).ok();
        if let Some(directory) = self.tree.get_mut(id) {
            directory.settled = identity.is_some();
            directory.identity = identity.or(directory.identity);
        }
        for child in children {
            self.drop_below(child);
        }
        if let Some(unneeded) = self.tree.set_watch(id, None)
            && let Some(queue) = &self.queue
        {
            queue.unwatch(unneeded);
        }
        self.tree.note(id);
        self.changed = true;
    }
}

fn mark(stale: &mut BTreeMap<Id, Stale>, id: Id, name: OsString) {
    match stale.entry(id).or_insert_with(|| Stale::Names(BTreeSet::new())) {
        Stale::Everything => {}
        Stale::Names(names) => {
            names.insert(name);
            if names.len() > MAX_NAMES {
                stale.insert(id, Stale::Everything);
            }
        }
    }
}
