//! An index of what commands must not see and must not change in the roots, complete at any size.
//!
//! The kernel reports each entry that comes and goes (inotify), and only reported ones are looked at again,
//! so an unchanged tree of any size costs one system call. Whatever happened before [`Watch::refresh`] is in
//! its answer. Directories that cannot be watched are asked for their change time instead; one that cannot be
//! searched is an entry of its own, to be hidden as a whole.

mod drainer;
mod file_system;
mod index;
mod queue;
mod rules;
mod snapshot;
mod tree;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use drainer::Drainer;
use index::Index;
use queue::Queue;
use toolkit::locked;

pub(crate) use rules::Rules;
pub(crate) use snapshot::{Entry, EntryKind, Snapshot};

/// A directory to index.
#[derive(Debug)]
pub(crate) struct WatchedRoot {
    /// Absolute, without links.
    pub(crate) path: PathBuf,
    pub(crate) handle: OwnedFd,
    /// In one that commands cannot change, only denied names are of interest.
    pub(crate) writable: bool,
}

/// Why the content of the roots is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("the root {0:?} cannot be read")]
    Unreadable(PathBuf),
    #[error("the directories of the roots are changing too fast")]
    Restless,
    #[error("cannot look through the roots")]
    Io(#[source] io::Error),
}

/// The index of all roots.
#[derive(Debug)]
pub(crate) struct Watch {
    index: Arc<Mutex<Index>>,
    /// The thread that empties the queue, until this is dropped.
    drainer: OnceLock<Drainer>,
}

impl Watch {
    /// Reads nothing yet.
    pub(crate) fn new(roots: Vec<WatchedRoot>, rules: Rules) -> Self {
        let queue = Queue::open().inspect_err(|error| {
            tracing::warn!(%error, "no inotify: every command looks at every directory of the roots");
        });
        Self::with_queue(roots, rules, queue.ok())
    }

    fn with_queue(roots: Vec<WatchedRoot>, rules: Rules, queue: Option<Queue>) -> Self {
        Self { index: Arc::new(Mutex::new(Index::new(roots, rules, queue))), drainer: OnceLock::new() }
    }

    /// Starts the thread that reads the roots for the first time; [`Watch::refresh`] waits for it.
    pub(crate) fn start_thread(&self) -> io::Result<()> {
        let queue = self.lock().queue().map(Queue::descriptor);
        let drainer = Drainer::start(&self.index, queue)?;
        let _ = self.drainer.set(drainer);
        Ok(())
    }

    /// The entries of interest in the roots now. The same `Arc` as before, if none was touched.
    pub(crate) fn refresh(&self) -> Result<Arc<Snapshot>, WatchError> {
        self.lock().refresh()
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        locked(&self.index)
    }
}

#[cfg(test)]
mod tests;
