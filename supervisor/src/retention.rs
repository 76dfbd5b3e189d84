//! Pruning from beginning to end, bite by bite, whoever holds the database: a running supervisor, or the
//! command line under the lock.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use protocol::event::DatabasePruned;
use protocol::{Event, EventId};

use crate::journal::chain::Position;
use crate::journal::files::Files;
use crate::store::retention::{Pruned, events, tasks};
use crate::store::{Store, StoreError, events as stored, kv, tool_calls};

/// The shortest span: what is younger may still be under way.
pub const SHORTEST: Duration = Duration::from_secs(3600);

/// Why pruning did not come to its end. What was done until then stays done; it can be asked for again.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A full file of the journal can not be removed.
    #[error("a full file of the journal could not be removed")]
    Journal(#[from] io::Error),
}

/// Takes away what ended before a time, and records that under `run`.
pub async fn prune(
    store: &Store,
    journal: &Path,
    run: Option<EventId>,
    before_ms: i64,
) -> Result<Pruned, PruneError> {
    let mut pruned = Pruned::default();
    loop {
        let bite = store.write(move |tx| tasks(tx, before_ms)).await?;
        pruned += bite;
        if bite.tasks == 0 {
            break;
        }
    }
    let mut until_seq = store.write(|tx| tool_calls::newest_event(tx)).await?;
    while until_seq > 0 {
        let (bite, next) = store.write(move |tx| events(tx, before_ms, until_seq)).await?;
        pruned += bite;
        until_seq = next;
    }
    pruned.journal_files = remove_full_files(store, journal, before_ms).await?;
    let (tasks, journal_files) = (pruned.tasks, pruned.journal_files);
    let events = pruned.events_of_tasks + pruned.other_events;
    let done = Event::now(DatabasePruned { before_ms, tasks, journal_files, events }, run.as_ref(), None);
    store.write(move |tx| stored::append(tx, &done)).await?;
    Ok(pruned)
}

/// Removes the full files of the journal that are taken in as a whole and were last written before a time.
async fn remove_full_files(store: &Store, journal: &Path, before_ms: i64) -> Result<i64, PruneError> {
    let stored = store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await?;
    let Some(position) = stored else { return Ok(0) };
    let position: Position = serde_json::from_str(&position).map_err(StoreError::from)?;
    let before = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(before_ms).unwrap_or(0));
    let mut removed = 0;
    for file in Files::list(journal)?.full_before(position.file) {
        // The oldest go first and none is left out: a chain with a hole in it does not hold.
        if file.metadata()?.modified()? >= before {
            break;
        }
        fs::remove_file(file)?;
        removed += 1;
    }
    Ok(removed)
}
