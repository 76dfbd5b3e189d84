//! The journal: every call is written down before it acts, in a hash chain that shows later changes.
//!
//! One JSON object per line, each with the hash of the line before. A record is one write to the page cache,
//! so it survives a killed server; a thread syncs it to the disk every second. Only one server writes the
//! file: a second one waits a moment for the lock and gives up. A full file is archived under a number, and
//! the chain continues in the next one; nothing here ever deletes one. Arguments that are too large for a
//! record lie in a file of their own, which the record names by its hash.

mod archives;
mod arguments;
mod open;
mod reader;
mod room;
mod tail;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use arguments::Arguments;
use protocol::journal::{
    BackgroundProcessEnded, CallEnded, CallReplayed, CallStarted, FIRST_PREV, RecordBody,
};
use protocol::{EventId, JournalPlace, JournalRecord, now_ms};
use settings::table::TOOL_JOURNAL_MAX_BYTES;
use tail::{Line as NewLine, Tail};
use tokio::sync::watch;
use toolkit::runner::CallIds;
use toolkit::{Recorder, Scope, locked};

pub use open::JournalError;
pub(crate) use reader::{Line, ReadError, Reader};
pub use verify::{Chain, verify};

const SYNC_EVERY: Duration = Duration::from_secs(1);

/// How long a failure counts after which no record was tried.
const LATELY: Duration = Duration::from_secs(10);

/// The open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    tail: Mutex<Tail>,
    arguments: Arguments,
    unsynced: AtomicBool,
    /// The last failure to write a record, unless one was written since.
    failure: Mutex<Option<(Instant, String)>>,
    /// Changes with each record; true once readers are to stop waiting for more.
    is_closing: watch::Sender<bool>,
    /// Where it ended when it was opened.
    opened_at: JournalPlace,
}

impl Journal {
    /// Opens the journal for writing, with the default file size.
    pub fn open(path: &Path) -> Result<Arc<Self>, JournalError> {
        Self::open_with_max_bytes(path, TOOL_JOURNAL_MAX_BYTES.default_value())
    }

    /// Opens the journal for writing, cuts off a torn last line and records that, and starts the thread
    /// that syncs it. A file is archived before a record would make it longer than `max_bytes`.
    pub(crate) fn open_with_max_bytes(path: &Path, max_bytes: u64) -> Result<Arc<Self>, JournalError> {
        let (tail, cut_bytes) = open::open(path, max_bytes)?;
        let opened_at = reader::end_of(&tail).map_err(|error| JournalError::Open(path.to_owned(), error))?;
        let journal = Arc::new(Self {
            opened_at,
            path: path.to_owned(),
            tail: Mutex::new(tail),
            arguments: Arguments::beside(path),
            unsynced: AtomicBool::new(false),
            failure: Mutex::default(),
            is_closing: watch::Sender::new(false),
        });
        if cut_bytes > 0 {
            let body = RecordBody::Repaired { cut_bytes };
            let ids = CallIds::of(None, None, &Scope::default());
            journal.append(EventId::new(), None, &ids, body).map_err(JournalError::Write)?;
        }
        start_sync_thread(Arc::downgrade(&journal)).map_err(JournalError::Write)?;
        Ok(journal)
    }

    /// The size of the journal with its archives.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        let archives = archives::archives(&self.path)?;
        let sizes = archives.values().chain([&self.path]).map(|file| Ok(fs::metadata(file)?.len()));
        sizes.sum()
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.unsynced.swap(false, Ordering::AcqRel) {
            let file = locked(&self.tail).file.try_clone()?;
            file.sync_data()?;
        }
        Ok(())
    }

    /// Records the end of a background process under the call that started it.
    pub(crate) fn process_ended(&self, ids: &CallIds, body: BackgroundProcessEnded) {
        let body = RecordBody::ProcessEnded(body);
        if let Err(error) = self.append(EventId::new(), Some(ids.call.clone()), ids, body) {
            tracing::error!(call_id = %ids.call, %error, "could not record the end of a background process");
        }
    }

    fn append(
        &self,
        id: EventId,
        parent_id: Option<EventId>,
        ids: &CallIds,
        body: RecordBody,
    ) -> io::Result<()> {
        let line = NewLine::of(&JournalRecord {
            body,
            id,
            parent_id,
            task_id: ids.task.clone(),
            session_id: ids.session.clone(),
            time_ms: now_ms(),
            prev: FIRST_PREV.to_owned(),
        })?;
        let named = fs::metadata(&self.path);
        let written = locked(&self.tail).append(line, &named);
        let failure = written.as_ref().err().map(|error| (Instant::now(), error.to_string()));
        *locked(&self.failure) = failure;
        written?;
        self.unsynced.store(true, Ordering::Release);
        self.is_closing.send_modify(|_| ());
        Ok(())
    }

    /// Changes with each record; true once there is no point in waiting for more.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.is_closing.subscribe()
    }

    /// Where it ended when this server opened it: what follows is this server's.
    pub(crate) fn opened_at(&self) -> JournalPlace {
        self.opened_at
    }

    /// The arguments that a record names, because they were too large for it; none if there are no such.
    pub(crate) fn arguments(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        arguments::read(&self.path, name)
    }

    /// Ends the waits for more records.
    pub(crate) fn close(&self) {
        self.is_closing.send_replace(true);
    }

    /// Fails if a record could not be written now, or could not lately.
    pub(crate) fn try_out(&self) -> io::Result<()> {
        let (file, length) = {
            let tail = locked(&self.tail);
            (tail.file.try_clone()?, tail.length)
        };
        room::try_out(&self.path, &file, length)?;
        let failure = locked(&self.failure).clone();
        match failure {
            Some((at, error)) if at.elapsed() < LATELY => Err(io::Error::other(error)),
            Some(_) | None => Ok(()),
        }
    }
}

impl Recorder for Journal {
    fn started(&self, ids: &CallIds, mut body: CallStarted) -> io::Result<()> {
        self.arguments.take_out(&mut body)?;
        self.append(ids.call.clone(), ids.parent.clone(), ids, RecordBody::Started(body))
    }

    fn replayed(&self, ids: &CallIds, body: CallReplayed) -> io::Result<()> {
        self.append(ids.call.clone(), ids.parent.clone(), ids, RecordBody::Replayed(body))
    }

    fn approval(&self, ids: &CallIds, id: EventId, body: RecordBody) -> io::Result<()> {
        self.append(id, ids.parent.clone(), ids, body)
    }

    fn ended(&self, ids: &CallIds, body: CallEnded) {
        if let Err(error) = self.append(EventId::new(), Some(ids.call.clone()), ids, body.into()) {
            tracing::error!(call_id = %ids.call, %error, "could not record the end of a call");
        }
    }
}

fn start_sync_thread(journal: Weak<Journal>) -> io::Result<()> {
    let sync = move || {
        while let Some(journal) = journal.upgrade() {
            if let Err(error) = journal.sync() {
                tracing::error!(%error, "could not sync the journal to the disk");
            }
            drop(journal);
            thread::sleep(SYNC_EVERY);
        }
    };
    thread::Builder::new().name("journal-sync".to_owned()).spawn(sync).map(drop)
}
