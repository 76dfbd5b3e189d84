//! The walk: visits all directories beneath one, in parallel.
//!
//! The order of the visits is not fixed; the visitor sorts by path. Hidden, ignored and denied entries are
//! skipped with everything below them. Links are entries and are never followed.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::thread::Builder;

use files::roots::{is_public_at, may_be_certificate, open_child_directory};
use rustix::io::Errno;

use super::directory::{Directory, without_slash};
use super::ignore_rules::{IgnoreRules, Verdict};
use super::limits::MAX_DEPTH;
use super::scope::SearchScope;
use super::search_budget::SearchBudget;
use super::skipped::Skipped;
use super::work_queue::WorkQueue;
use crate::entry_type::EntryType;

/// Visits the entries; each thread has its own visitor.
pub(crate) trait Visitor: Send {
    /// How many entries make one job; few where one is expensive, so that threads share a directory's files.
    const ENTRIES_PER_JOB: usize;

    /// Whether anything below this directory can matter; the path is as in [`Entry`].
    fn may_include_below(&self, directory: &[u8]) -> bool;

    fn visit(&mut self, entry: &Entry<'_>, skipped: &mut Skipped);
}

pub(crate) struct Entry<'a> {
    pub(crate) directory: &'a Directory,
    /// Its path below the searched directory; a directory's ends in `/`.
    pub(crate) path: &'a [u8],
    pub(crate) name: &'a [u8],
    pub(crate) entry_type: EntryType,
}

enum Job {
    Top(OwnedFd),
    Directory(Arc<Directory>, usize),
    Entries(Arc<Directory>, Range<usize>),
}

/// Walks with one thread per visitor, this thread included, and returns what was skipped.
pub(crate) fn walk<V: Visitor>(
    scope: &SearchScope<'_>,
    budget: &SearchBudget,
    top: OwnedFd,
    visitors: Vec<V>,
) -> Skipped {
    let queue = WorkQueue::new(Job::Top(top));
    let mut skipped = Skipped::default();
    let mut walkers = visitors.into_iter().map(|visitor| {
        let (path, skipped) = (Vec::new(), Skipped::default());
        Walker { scope, budget, queue: &queue, visitor, path, skipped }
    });
    std::thread::scope(|threads| {
        let own = walkers.next();
        // If the system allows no more threads, fewer do the work.
        let others: Vec<_> =
            walkers.filter_map(|walker| Builder::new().spawn_scoped(threads, || walker.run()).ok()).collect();
        skipped.merge(own.map(Walker::run).unwrap_or_default());
        for other in others {
            match other.join() {
                Ok(of_thread) => skipped.merge(of_thread),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    skipped
}

struct Walker<'a, V> {
    scope: &'a SearchScope<'a>,
    budget: &'a SearchBudget,
    queue: &'a WorkQueue<Job>,
    visitor: V,
    /// The path beneath the root of the current entry.
    path: Vec<u8>,
    skipped: Skipped,
}

impl<V: Visitor> Walker<'_, V> {
    fn run(mut self) -> Skipped {
        while let Some((job, _taken)) = self.queue.take() {
            match job {
                Job::Top(_) | Job::Directory(..) if self.budget.is_exhausted() => {}
                Job::Top(handle) => self.enter(handle, self.scope.start.clone(), 0, self.scope.rules.clone()),
                Job::Directory(parent, index) => self.descend(&parent, index),
                Job::Entries(directory, range) => self.visit(&directory, range),
            }
        }
        self.skipped
    }

    fn descend(&mut self, parent: &Arc<Directory>, index: usize) {
        let (key, _) = parent.entry(index);
        let path = [parent.path.as_slice(), key].concat();
        if !self.visitor.may_include_below(self.scope.below(&path)) {
            self.skipped.is_incomplete = true;
            return;
        }
        match open_child_directory(parent.handle.as_fd(), without_slash(key)) {
            Ok(handle) => self.enter(handle, path, parent.depth + 1, parent.rules.clone()),
            Err(errno) => self.could_not_read(&path, errno),
        }
    }

    fn enter(&mut self, handle: OwnedFd, path: Vec<u8>, depth: usize, rules: Option<Arc<IgnoreRules>>) {
        if !self.budget.check_clock() {
            return;
        }
        match Directory::read(handle, path.clone(), depth, self.budget) {
            Ok((mut directory, ignore_files)) => {
                if !self.scope.include_ignored {
                    directory.rules =
                        IgnoreRules::within(rules, directory.handle.as_fd(), ignore_files, path.len());
                }
                self.drop_skipped(&mut directory);
                self.share(&Arc::new(directory));
            }
            Err(errno) => self.could_not_read(&path, errno),
        }
    }

    /// Drops the entries that the search skips.
    fn drop_skipped(&mut self, directory: &mut Directory) {
        let rules = directory.rules.clone();
        let certificates = self.certificates(directory);
        let (path, skipped, scope) = (&mut self.path, &mut self.skipped, self.scope);
        path.clone_from(&directory.path);
        let start = path.len();
        directory.retain(|key, entry_type| {
            let name = without_slash(key).as_bytes();
            path.truncate(start);
            path.extend_from_slice(name);
            if scope.denies(path, name) && !certificates.contains(path) {
                skipped.denied = true;
                return false;
            }
            if scope.is_against_rules(path) {
                skipped.against_rules = true;
                return false;
            }
            let is_directory = entry_type == EntryType::Dir;
            match rules.as_ref().map_or(Verdict::Unmatched, |rules| rules.judge(path, is_directory)) {
                Verdict::Whitelisted => true,
                Verdict::Ignored => {
                    skipped.ignored += 1;
                    false
                }
                Verdict::Unmatched => {
                    let is_skipped = !scope.include_hidden && name.starts_with(b".");
                    skipped.hidden += u64::from(is_skipped);
                    !is_skipped
                }
            }
        });
    }

    /// The paths of those files that are denied by their names and hold certificates alone.
    fn certificates(&self, directory: &Directory) -> Vec<Vec<u8>> {
        let names = (0..directory.len()).map(|index| without_slash(directory.entry(index).0));
        names
            .filter(|name| may_be_certificate(name.as_bytes()))
            .map(|name| ([directory.path.as_slice(), name.as_bytes()].concat(), name))
            .filter(|(path, name)| self.scope.denies(path, name.as_bytes()))
            .filter(|(_, name)| is_public_at(directory.handle.as_fd(), name))
            .map(|(path, _)| path)
            .collect()
    }

    /// Queues the directory's entries and subdirectories as jobs, the first to be taken first.
    fn share(&mut self, directory: &Arc<Directory>) {
        let descends = directory.depth + 1 < self.scope.max_depth;
        let is_one_job = directory.len() <= V::ENTRIES_PER_JOB;
        let mut jobs = Vec::new();
        for index in 0..directory.len() {
            if !is_one_job && index.is_multiple_of(V::ENTRIES_PER_JOB) {
                let end = directory.len().min(index + V::ENTRIES_PER_JOB);
                jobs.push(Job::Entries(Arc::clone(directory), index..end));
            }
            if descends && directory.entry(index).1 == EntryType::Dir {
                if directory.depth == MAX_DEPTH {
                    self.skipped.too_deep = true;
                } else {
                    jobs.push(Job::Directory(Arc::clone(directory), index));
                }
            }
        }
        jobs.reverse();
        self.queue.extend(jobs);
        if is_one_job {
            self.visit(directory, 0..directory.len());
        }
    }

    fn visit(&mut self, directory: &Directory, range: Range<usize>) {
        self.path.clone_from(&directory.path);
        self.budget.check_clock();
        for index in range {
            if self.budget.must_stop() {
                return;
            }
            let (key, entry_type) = directory.entry(index);
            self.path.truncate(directory.path.len());
            self.path.extend_from_slice(key);
            let path = self.scope.below(&self.path);
            let entry = Entry { directory, path, name: without_slash(key).as_bytes(), entry_type };
            self.visitor.visit(&entry, &mut self.skipped);
        }
    }

    /// Reports an unreadable directory, unless it was deleted or replaced by a link in the meantime.
    fn could_not_read(&mut self, path: &[u8], errno: Errno) {
        if !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            self.skipped.unreadable.add(self.scope.shown.path(self.scope.below(path)));
        }
    }
}
