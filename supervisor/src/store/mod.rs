//! The database: the only memory that outlives a process.
//!
//! One thread owns the one connection that writes. Everybody else sends it closures, each of which is
//! committed as a whole or not at all, so whatever belongs together stays together. The modules below hold
//! the verbs; they take the caller's transaction and never open one.
//!
//! Every commit that changed something moves a counter. Whoever waits for work waits for that counter
//! and looks again; nothing polls.

pub mod attempt;
pub mod backlog;
pub mod cancel;
pub mod claim;
mod columns;
pub mod delivery;
pub mod events;
#[cfg(test)]
pub(crate) mod fixture;
pub mod history;
pub mod inbox;
pub mod kv;
pub mod open;
pub mod outbox;
pub mod prior_context;
#[cfg(test)]
mod properties;
pub mod requeue;
pub mod retention;
pub mod tool_calls;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::Transaction;
use tokio::sync::{mpsc, watch};

use crate::channel::ChannelName;
use writer::{Asked, Job, Notices, work_off};

/// More waiting closures than this make their senders wait.
const QUEUE_LENGTH: usize = 1024;

/// The pause before a failed change is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("the database refused: {0}")]
    Sqlite(rusqlite::Error),
    /// The file is no whole database any more.
    #[error(
        "the database {} is damaged ({}). It was left as it is: keep it, and put a backup in its place; \
         docs/operations.md says how",
        .0.display(), .1
    )]
    Damaged(PathBuf, rusqlite::Error),
    /// The file was made by a newer program.
    #[error(
        "the database {} is of version {found}, and this program knows {known}. It was left as it is: use \
         the newer program, or a backup from before it",
        .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The schema could not be brought up to date.
    #[error("the database's schema could not be brought up to date: {0}")]
    Migration(rusqlite_migration::Error),
    /// Something in the database does not have its shape.
    #[error("the database holds something malformed")]
    Malformed(#[from] serde_json::Error),
    /// A channel whose replies are fetched was given something else.
    #[error("a chat of the channel {0} only gets replies to its own messages")]
    NotAReply(ChannelName),
    /// The thread that writes could not be started.
    #[error("the thread that writes to the database could not be started")]
    Thread(#[source] std::io::Error),
    /// The thread that writes is gone.
    #[error("the database is closed")]
    Closed,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<rusqlite_migration::Error> for StoreError {
    fn from(error: rusqlite_migration::Error) -> Self {
        Self::Migration(error)
    }
}

impl StoreError {
    /// Whether the same work can succeed later.
    fn can_pass(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                error.sqlite_error_code() != Some(rusqlite::ErrorCode::ConstraintViolation)
                    && !open::is_damage(error)
            }
            Self::Damaged(..)
            | Self::Newer { .. }
            | Self::Migration(_)
            | Self::Malformed(_)
            | Self::NotAReply(_)
            | Self::Thread(_)
            | Self::Closed => false,
        }
    }

    /// Whether the database's file is damaged.
    fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite(error) => open::is_damage(error),
            Self::Damaged(..) => true,
            _ => false,
        }
    }

    /// Whether somebody else holds the database just now.
    pub fn is_locked(&self) -> bool {
        let code = match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Migration(rusqlite_migration::Error::RusqliteError { err, .. }) => err.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
    }
}

/// A handle to the database; clones share the one writer.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: mpsc::Sender<Box<dyn Job>>,
    // Kept beside the writer, so that whoever waits for a change is not woken for ever when that has ended.
    changed: Arc<watch::Sender<u64>>,
    trouble: watch::Receiver<Option<String>>,
}

impl Store {
    /// Opens the database, brings its schema up to date, and starts the writer.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = open::for_writing(path)?;
        let (jobs, queue) = mpsc::channel(QUEUE_LENGTH);
        let changed = Arc::new(watch::Sender::new(0));
        let (troubled, trouble) = watch::channel(None);
        let notices = Notices { changed: Arc::clone(&changed), trouble: troubled };
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || work_off(connection, queue, &notices))
            .map_err(StoreError::Thread)?;
        Ok(Self { jobs, changed, trouble })
    }

    /// Runs `work` in a transaction, and commits it if it succeeds. What it did is on the disk once this
    /// answers; it may share its commit with the work of others.
    pub async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, answered) = Asked::new(work);
        self.jobs.send(Box::new(job)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// As [`Store::write`], again and again while the failure can pass, such as a full disk.
    pub async fn write_until_done<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&Transaction<'_>) -> Result<T, StoreError> + Clone + Send + 'static,
    {
        loop {
            match self.write(work.clone()).await {
                Err(error) if error.can_pass() => {
                    tracing::error!(%error, "the database does not take a change; trying again");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    /// Resolves when nothing is written any more, because the database turned out to be damaged.
    pub async fn given_up(&self) {
        self.jobs.closed().await;
    }

    /// A counter that moves with every commit.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Why the database takes no changes, such as a full disk. After a failure it is asked again with a
    /// small change, so that an end of the trouble is seen even when nobody else writes.
    pub async fn trouble(&self) -> Option<String> {
        if self.trouble.borrow().is_some() {
            let now = protocol::now_ms().to_string();
            let _ = self.write(move |tx| kv::set(tx, kv::LAST_PROBE, &now)).await;
        }
        self.trouble.borrow().clone()
    }
}
