//! The database: the only state that outlives a process, in a SQLite file or on a PostgreSQL server.
//!
//! One thread owns the only connection that writes. Other code sends it closures, each of which is committed
//! completely or not at all. The modules below have the verbs; they use the caller's transaction and never
//! open one.
//!
//! Every commit that changed something increments a counter. Code that waits for work waits for that counter;
//! nothing polls.

#![expect(missing_docs, reason = "the names are those of the columns, and say what they mean")]

pub mod activity;
pub mod additions;
pub mod approvals;
pub mod asked;
pub mod attachments;
pub mod attempt;
pub mod backlog;
pub mod cancel;
pub mod changes;
pub mod chats;
pub mod claim;
mod columns;
pub mod contact_messages;
pub mod conversation;
mod copy_before_update;
pub mod delivery;
pub mod edits;
pub mod effects;
pub mod events;
pub mod file_requests;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod held;
pub mod inbox;
pub mod kv;
pub mod languages;
pub mod line;
mod location;
pub mod membership;
pub mod message_numbers;
pub mod move_database;
pub mod nodes;
pub mod open;
mod open_server;
pub mod outbox;
pub mod outgoing_files;
pub mod outside;
pub mod page_files;
pub mod pairing;
pub mod parked;
pub mod parts;
pub mod prior_context;
#[cfg(test)]
mod properties;
pub mod queries;
pub mod quotas;
pub mod received;
pub mod requeue;
pub mod resend;
pub mod retention;
pub mod said;
pub mod schedules;
mod schema;
pub mod sql;
pub mod stages;
pub mod steering;
pub mod timing;
pub mod tool_calls;
pub mod usage;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use channel::ChannelName;
use tokio::sync::{mpsc, watch};

pub use location::Location;
use sql::Connection;
use writer::{Asked, Job, Notices, work_off};

/// More waiting closures than this make their senders wait.
const QUEUE_LENGTH: usize = 1024;

/// The pause before a failed change is retried.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Why the database could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database returned an error.
    #[error("database error: {0}")]
    Database(sql::Error),
    /// The file is damaged.
    #[error(
        "the database {} is damaged ({}). The file was not changed. Keep it, and restore a backup: see \
         docs/backup.md",
        .0.display(), .1
    )]
    Damaged(PathBuf, sql::Error),
    /// Others could read the file, and that could not be changed.
    #[error("could not make {} readable by its owner alone", .0.display())]
    NotPrivate(PathBuf, #[source] std::io::Error),
    /// A newer program made the file.
    #[error(
        "the database {location} has version {found}, but this program only knows version {known}. It was \
         not changed. Use the newer program, or restore a backup from before it"
    )]
    Newer {
        /// The database.
        location: Location,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// Without a copy, the schema is not changed.
    #[error(
        "could not keep a copy of the database before its update, {}: {}. The database was not changed. Make \
         room on the disk, or see that the directory can be written, and start again",
        .0.display(), .1
    )]
    NoCopy(PathBuf, String),
    /// The schema could not be migrated.
    #[error("could not migrate the database: {0}")]
    Migration(rusqlite_migration::Error),
    /// A stored value does not parse.
    #[error("the database contains a malformed value")]
    Malformed(#[from] serde_json::Error),
    /// A channel whose replies are fetched was given something else.
    #[error("a chat of the channel {0} only gets replies to its own messages")]
    NotAReply(ChannelName),
    /// The system gave no random bytes.
    #[error("could not read random bytes")]
    NoRandomness,
    /// The writer's thread could not be started.
    #[error("could not start the database's thread")]
    Thread(#[source] std::io::Error),
    /// The writer's thread has ended.
    #[error("the database is closed")]
    Closed,
}

impl From<sql::Error> for StoreError {
    fn from(error: sql::Error) -> Self {
        Self::Database(error)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<rusqlite_migration::Error> for StoreError {
    fn from(error: rusqlite_migration::Error) -> Self {
        Self::Migration(error)
    }
}

impl StoreError {
    /// Whether the same work can succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => !error.is_refusal() && !open::is_damage(error),
            Self::Damaged(..)
            | Self::NotPrivate(..)
            | Self::Newer { .. }
            | Self::NoCopy(..)
            | Self::Migration(_)
            | Self::Malformed(_)
            | Self::NotAReply(_)
            | Self::NoRandomness
            | Self::Thread(_)
            | Self::Closed => false,
        }
    }

    fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(..)) || matches!(self, Self::Database(error) if open::is_damage(error))
    }

    /// Whether the database is on a server that gives no answer, or takes no connections now.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_away())
    }

    /// Whether another supervisor uses the database of a server.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Database(sql::Error::InUse))
    }

    /// Whether another program has the database locked.
    pub fn is_locked(&self) -> bool {
        let code = match self {
            Self::Database(error) => error.sqlite_error_code(),
            Self::Migration(rusqlite_migration::Error::RusqliteError { err, .. }) => err.sqlite_error_code(),
            _ => None,
        };
        let locked = [rusqlite::ErrorCode::DatabaseBusy, rusqlite::ErrorCode::DatabaseLocked];
        code.is_some_and(|code| locked.contains(&code))
    }
}

/// A handle to the database; clones share the one writer.
#[derive(Debug, Clone)]
pub struct Store {
    jobs: mpsc::Sender<Box<dyn Job>>,
    // Also held here: a dropped sender would wake everybody who waits for a change, again and again.
    changed: Arc<watch::Sender<u64>>,
    trouble: Arc<watch::Sender<Option<String>>>,
    /// Whether the writer ended because the file is damaged.
    is_damaged: Arc<AtomicBool>,
}

impl Store {
    /// Opens the database, migrates it, and starts the writer.
    pub fn open(location: impl Into<Location>) -> Result<Self, StoreError> {
        let location = location.into();
        let (jobs, queue) = mpsc::channel(QUEUE_LENGTH);
        let changed = Arc::new(watch::Sender::new(0));
        let trouble = Arc::new(watch::Sender::new(None));
        let is_damaged = Arc::<AtomicBool>::default();
        let (opened, is_open) = std::sync::mpsc::channel();
        let notices = Notices {
            changed: Arc::clone(&changed),
            trouble: Arc::clone(&trouble),
            is_damaged: Arc::clone(&is_damaged),
        };
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                // A client of a server waits for it, which the caller's thread may not.
                match open::for_the_writer(location) {
                    Ok(connection) => {
                        let _ = opened.send(Ok(()));
                        work_off(&connection, queue, &notices);
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            })
            .map_err(StoreError::Thread)?;
        is_open.recv().map_err(|_| StoreError::Closed)??;
        Ok(Self { jobs, changed, trouble, is_damaged })
    }

    /// Runs `work` in a transaction and commits it if it succeeds. Once this returns, the changes are on
    /// disk. The commit may be shared with other work.
    pub async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, answered) = Asked::new(work);
        self.jobs.send(Box::new(job)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Like [`Store::write`], but retries transient failures such as a full disk.
    pub async fn write_until_done<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Fn(&Connection) -> Result<T, StoreError> + Clone + Send + 'static,
    {
        loop {
            match self.write(work.clone()).await {
                Err(error) if error.is_transient() => {
                    tracing::error!(%error, "could not write to the database; retrying");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    /// Resolves when the writer has ended, with whether that is because the database is damaged.
    pub async fn given_up(&self) -> bool {
        self.jobs.closed().await;
        self.is_damaged.load(Ordering::Acquire)
    }

    /// A counter that increments with every commit.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Why the database takes no changes, such as a full disk or the lock of another program. Tries it, which
    /// takes as long as a change would. Trouble is over when a change that was made to try it succeeds: where
    /// a server's disk is full, small ones still find room.
    pub async fn trouble(&self) -> Option<Trouble> {
        let was_well = self.trouble.borrow().is_none();
        match self.write(move |tx| if was_well { Ok(()) } else { kv::probe(tx) }).await {
            Err(error) if error.is_locked() => return Some(Trouble::Locked),
            Err(error) => return Some(Trouble::Other(error.to_string())),
            Ok(()) if was_well => {}
            Ok(()) => drop(self.trouble.send_replace(None)),
        }
        self.trouble.borrow().clone().map(Trouble::Other)
    }
}

/// Why the database takes no changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Another program holds SQLite's write lock.
    Locked,
    /// What the database says.
    Other(String),
}
