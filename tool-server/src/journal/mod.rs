//! The journal: every call, written down before it acts, in a chain that shows any later change.
//!
//! One JSON object a line, each with the hash of the line before. A record is one write to the page cache,
//! so it survives a killed server; a thread syncs it to the disk every second. Nobody but the server
//! writes the file: a second writer waits a moment for the lock and gives up. A file that is full is put
//! aside under a number, and the chain goes on in the next one; nothing here ever removes one.

mod archives;
mod open;
mod verify;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use protocol::journal::{CallEnded, CallStarted, RecordBody};
use protocol::{EventId, JournalRecord, SessionId, now_ms};
use toolkit::Recorder;
use toolkit::runner::CallIds;

pub use open::JournalError;
pub use verify::{Broken, Chain, ChainBreak, verify};

/// How long a file of the journal gets where nobody says otherwise, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 64 << 20;

/// How often the journal is synced to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The open journal.
#[derive(Debug)]
pub struct Journal {
    tail: Mutex<Tail>,
    unsynced: AtomicBool,
}

/// The end of the file, where the next record goes.
#[derive(Debug)]
struct Tail {
    path: PathBuf,
    file: File,
    length: u64,
    max_bytes: u64,
    last_hash: String,
    _lock: File,
}

impl Journal {
    /// Opens the journal for writing, with files of the usual length.
    pub fn open(path: &Path) -> Result<Arc<Self>, JournalError> {
        Self::open_with_max_bytes(path, DEFAULT_MAX_BYTES)
    }

    /// Opens the journal for writing, cuts a torn last line away and records that, and starts the thread
    /// that syncs it. A file that a record would make longer than `max_bytes` is put aside first.
    pub fn open_with_max_bytes(path: &Path, max_bytes: u64) -> Result<Arc<Self>, JournalError> {
        let (tail, cut_bytes) = open::open(path, max_bytes)?;
        let journal = Arc::new(Self { tail: Mutex::new(tail), unsynced: AtomicBool::new(false) });
        if cut_bytes > 0 {
            let body = RecordBody::Repaired { cut_bytes };
            journal
                .append(EventId::new(), None, &CallIds::of_the_server(), body)
                .map_err(JournalError::Write)?;
        }
        start_sync_thread(Arc::downgrade(&journal)).map_err(JournalError::Write)?;
        Ok(journal)
    }

    /// Writes everything to the disk.
    pub fn sync(&self) -> io::Result<()> {
        if self.unsynced.swap(false, Ordering::AcqRel) {
            let file = self.tail().file.try_clone()?;
            file.sync_data()?;
        }
        Ok(())
    }

    fn append(
        &self,
        id: EventId,
        parent_id: Option<EventId>,
        ids: &CallIds,
        body: RecordBody,
    ) -> io::Result<()> {
        let mut tail = self.tail();
        let record = JournalRecord {
            body,
            id,
            parent_id,
            task_id: ids.task.clone(),
            session_id: ids.session.clone(),
            time_ms: now_ms(),
            prev: tail.last_hash.clone(),
        };
        tail.append(&record)?;
        self.unsynced.store(true, Ordering::Release);
        Ok(())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    fn append(&mut self, record: &JournalRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        let hash = JournalRecord::line_hash(&line);
        line.push(b'\n');
        self.rotate_if_full(u64::try_from(line.len()).unwrap_or(u64::MAX));
        if let Err(error) = self.file.write_all(&line) {
            // Half a line must not stay: the next record would be glued to it.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += u64::try_from(line.len()).unwrap_or(0);
        self.last_hash = hash;
        Ok(())
    }

    /// Puts a full file aside. Where that fails the file grows on: a record matters more than a length.
    fn rotate_if_full(&mut self, needed: u64) {
        if self.length == 0 || self.length.saturating_add(needed) <= self.max_bytes {
            return;
        }
        match self.file.sync_data().and_then(|()| archives::rotate(&self.path)) {
            Ok(file) => (self.file, self.length) = (file, 0),
            Err(error) => tracing::error!(%error, "the full journal could not be put aside and grows on"),
        }
    }
}

impl Recorder for Journal {
    fn started(&self, ids: &CallIds, body: CallStarted) -> io::Result<()> {
        self.append(ids.call.clone(), ids.parent.clone(), ids, RecordBody::Started(body))
    }

    fn ended(&self, ids: &CallIds, body: CallEnded) {
        if let Err(error) = self.append(EventId::new(), Some(ids.call.clone()), ids, body.into()) {
            tracing::error!(call_id = %ids.call, %error, "the end of a call could not be recorded");
        }
    }
}

/// The ids of a record that is about no call.
trait OfTheServer {
    fn of_the_server() -> Self;
}

impl OfTheServer for CallIds {
    fn of_the_server() -> Self {
        Self { call: EventId::new(), parent: None, task: None, session: SessionId::default_session() }
    }
}

fn start_sync_thread(journal: Weak<Journal>) -> io::Result<()> {
    let sync = move || {
        while let Some(journal) = journal.upgrade() {
            if let Err(error) = journal.sync() {
                tracing::error!(%error, "the journal could not be synced to the disk");
            }
            drop(journal);
            thread::sleep(SYNC_EVERY);
        }
    };
    thread::Builder::new().name("journal-sync".to_owned()).spawn(sync).map(drop)
}
