//! The walk: all directories beneath one, in parallel, each entry judged and shown to a visitor.
//!
//! The order of the visits is not fixed; whoever visits sorts by path. Hidden, ignored and denied entries
//! are left out together with all beneath them. Links are entries and are never followed.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::thread::Builder;

use rustix::io::Errno;

use super::folder::{Folder, bare};
use super::fuse::Fuse;
use super::left_out::LeftOut;
use super::queue::Queue;
use super::rules::{Rules, Verdict};
use super::scope::Scope;
use crate::entry_type::EntryType;
use crate::roots::open_child_directory;

/// How deep a walk goes; each level holds an open directory.
pub(super) const MAX_DEPTH: usize = 400;

/// What looks at the entries; each thread has its own.
pub(crate) trait Visitor: Send {
    /// How many entries are one piece of work. Small where an entry costs much, so that all threads share
    /// the files of one directory.
    const ENTRIES_PER_JOB: usize;

    /// Whether anything beneath this directory can matter; the path is as in [`Entry`].
    fn wants_beneath(&self, directory: &[u8]) -> bool;

    /// Looks at an entry.
    fn visit(&mut self, entry: &Entry<'_>, left_out: &mut LeftOut);
}

/// An entry on the walk.
pub(crate) struct Entry<'a> {
    /// The directory that it is in.
    pub(crate) folder: &'a Folder,
    /// Its path below the searched directory; a directory's ends in `/`.
    pub(crate) path: &'a [u8],
    /// Its name.
    pub(crate) name: &'a [u8],
    /// What it is.
    pub(crate) entry_type: EntryType,
}

enum Job {
    /// The searched directory.
    Top(OwnedFd),
    /// A directory in a folder.
    Directory(Arc<Folder>, usize),
    /// Some entries of a folder.
    Entries(Arc<Folder>, Range<usize>),
}

/// Walks with as many threads as there are visitors, this one among them, and returns what was left out.
pub(crate) fn walk<V: Visitor>(scope: &Scope<'_>, fuse: &Fuse, top: OwnedFd, visitors: Vec<V>) -> LeftOut {
    let queue = Queue::new(Job::Top(top));
    let mut left_out = LeftOut::default();
    let mut walkers = visitors.into_iter().map(|visitor| {
        let (path, left_out) = (Vec::new(), LeftOut::default());
        Walker { scope, fuse, queue: &queue, visitor, path, left_out }
    });
    std::thread::scope(|threads| {
        let own = walkers.next();
        // Where the system gives no more threads, fewer do the work.
        let others: Vec<_> =
            walkers.filter_map(|walker| Builder::new().spawn_scoped(threads, || walker.run()).ok()).collect();
        left_out.merge(own.map(Walker::run).unwrap_or_default());
        for other in others {
            match other.join() {
                Ok(of_thread) => left_out.merge(of_thread),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    left_out
}

/// One thread of a walk.
struct Walker<'a, V> {
    scope: &'a Scope<'a>,
    fuse: &'a Fuse,
    queue: &'a Queue<Job>,
    visitor: V,
    /// The path beneath the root of what is looked at.
    path: Vec<u8>,
    left_out: LeftOut,
}

impl<V: Visitor> Walker<'_, V> {
    fn run(mut self) -> LeftOut {
        while let Some((job, _taken)) = self.queue.take() {
            match job {
                Job::Top(_) | Job::Directory(..) if self.fuse.is_blown() => {}
                Job::Top(handle) => self.enter(handle, self.scope.start(), 0, self.scope.rules()),
                Job::Directory(parent, index) => self.descend(&parent, index),
                Job::Entries(folder, range) => self.visit(&folder, range),
            }
        }
        self.left_out
    }

    fn descend(&mut self, parent: &Arc<Folder>, index: usize) {
        let (key, _) = parent.entry(index);
        let path = [parent.path.as_slice(), key].concat();
        if !self.visitor.wants_beneath(self.scope.below(&path)) {
            self.left_out.passed_over = true;
            return;
        }
        match open_child_directory(parent.handle.as_fd(), bare(key)) {
            Ok(handle) => self.enter(handle, path, parent.depth + 1, parent.rules.clone()),
            Err(errno) => self.could_not_read(&path, errno),
        }
    }

    fn enter(&mut self, handle: OwnedFd, path: Vec<u8>, depth: usize, rules: Option<Arc<Rules>>) {
        if !self.fuse.holds() {
            return;
        }
        match Folder::read(handle, path.clone(), depth, self.fuse) {
            Ok((mut folder, marks)) => {
                if !self.scope.include_ignored {
                    folder.rules = Rules::within(rules, folder.handle.as_fd(), marks, path.len());
                }
                self.judge(&mut folder);
                self.share(&Arc::new(folder));
            }
            Err(errno) => self.could_not_read(&path, errno),
        }
    }

    /// Drops the entries that are left out.
    fn judge(&mut self, folder: &mut Folder) {
        let rules = folder.rules.clone();
        let (path, left_out, scope) = (&mut self.path, &mut self.left_out, self.scope);
        path.clone_from(&folder.path);
        let start = path.len();
        folder.retain(|key, entry_type| {
            let name = bare(key).as_bytes();
            path.truncate(start);
            path.extend_from_slice(name);
            if scope.denies(path, name) {
                left_out.denied = true;
                return false;
            }
            let is_directory = entry_type == EntryType::Dir;
            match rules.as_ref().map_or(Verdict::None, |rules| rules.judge(path, is_directory)) {
                Verdict::Shown => true,
                Verdict::Ignored => {
                    left_out.ignored += 1;
                    false
                }
                Verdict::None => {
                    let is_left_out = !scope.include_hidden && name.starts_with(b".");
                    left_out.hidden += u64::from(is_left_out);
                    !is_left_out
                }
            }
        });
    }

    /// Hands the folder's directories and entries to whichever thread is free, the first to be taken first.
    fn share(&mut self, folder: &Arc<Folder>) {
        let descends = folder.depth + 1 < self.scope.max_depth;
        let is_one_job = folder.len() <= V::ENTRIES_PER_JOB;
        let mut jobs = Vec::new();
        for index in 0..folder.len() {
            if !is_one_job && index.is_multiple_of(V::ENTRIES_PER_JOB) {
                let end = folder.len().min(index + V::ENTRIES_PER_JOB);
                jobs.push(Job::Entries(Arc::clone(folder), index..end));
            }
            if descends && folder.entry(index).1 == EntryType::Dir {
                if folder.depth == MAX_DEPTH {
                    self.left_out.too_deep = true;
                } else {
                    jobs.push(Job::Directory(Arc::clone(folder), index));
                }
            }
        }
        jobs.reverse();
        self.queue.extend(jobs);
        if is_one_job {
            self.visit(folder, 0..folder.len());
        }
    }

    fn visit(&mut self, folder: &Folder, range: Range<usize>) {
        self.path.clone_from(&folder.path);
        self.fuse.holds();
        for index in range {
            if self.fuse.is_over() {
                return;
            }
            let (key, entry_type) = folder.entry(index);
            self.path.truncate(folder.path.len());
            self.path.extend_from_slice(key);
            let path = self.scope.below(&self.path);
            let entry = Entry { folder, path, name: bare(key).as_bytes(), entry_type };
            self.visitor.visit(&entry, &mut self.left_out);
        }
    }

    /// A directory that went away or became a link meanwhile is no longer there; others are named.
    fn could_not_read(&mut self, path: &[u8], errno: Errno) {
        if !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            self.left_out.unreadable.add(self.scope.shown.path(self.scope.below(path)));
        }
    }
}
