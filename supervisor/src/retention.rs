//! Prunes old tasks, events and journal files in small batches; for a running supervisor and for the command
//! line, which then holds the lock.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use protocol::event::DatabasePruned;
use protocol::journal::ARGUMENTS_DIRECTORY;
use protocol::{Event, EventId};
use store::retention::{Pruned, events, tasks};
use store::{Store, StoreError, events as stored, kv, tool_calls};

use crate::journal::chain::Position;
use crate::journal::files::Files;
use crate::journal::tampering::{self, Base};

/// The shortest allowed age: younger tasks may still be in use.
pub const SHORTEST: Duration = settings::SHORTEST_RETENTION;

/// Why pruning failed. What was deleted until then stays deleted; it can be run again.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not remove an old journal file")]
    Journal(#[from] io::Error),
}

/// Deletes what ended before a time, and records that under `run`. `seen` gets what each batch has deleted.
pub async fn prune(
    store: &Store,
    journal: &Path,
    run: Option<EventId>,
    before_ms: i64,
    seen: impl Fn(Pruned),
) -> Result<Pruned, PruneError> {
    let pruned = delete(store, journal, before_ms, seen).await?;
    record(store, run.as_ref(), before_ms, pruned).await?;
    Ok(pruned)
}

/// Deletes what ended before a time. `seen` gets what each batch has deleted.
pub(crate) async fn delete(
    store: &Store,
    journal: &Path,
    before_ms: i64,
    seen: impl Fn(Pruned),
) -> Result<Pruned, PruneError> {
    let mut pruned = Pruned::default();
    loop {
        let batch = store.write(move |tx| tasks(tx, before_ms)).await?;
        pruned += batch;
        seen(batch);
        if batch.tasks == 0 {
            break;
        }
    }
    let mut until_seq = store.write(tool_calls::newest_event).await?;
    while until_seq > 0 {
        let (batch, next) = store.write(move |tx| events(tx, before_ms, until_seq)).await?;
        pruned += batch;
        seen(batch);
        until_seq = next;
    }
    pruned.journal_files = remove_full_files(store, journal, before_ms).await?;
    Ok(pruned)
}

/// Records under `run` what was deleted.
pub(crate) async fn record(
    store: &Store,
    run: Option<&EventId>,
    before_ms: i64,
    pruned: Pruned,
) -> Result<(), StoreError> {
    let (tasks, journal_files) = (pruned.tasks, pruned.journal_files);
    let events = pruned.events_of_tasks + pruned.other_events;
    let done = Event::now(DatabasePruned { before_ms, tasks, journal_files, events }, run, None);
    store.write(move |tx| stored::append(tx, &done)).await
}

/// Removes the full journal files that were read to their end and last written before a time.
async fn remove_full_files(store: &Store, journal: &Path, before_ms: i64) -> Result<i64, PruneError> {
    let stored = store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await?;
    let Some(position) = stored else { return Ok(0) };
    let position: Position = serde_json::from_str(&position).map_err(StoreError::from)?;
    let before = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(before_ms).unwrap_or(0));
    let old = old_files(&Files::list(journal)?, position.file, before)?;
    if let Some((newest, _)) = old.last() {
        move_base(store, journal, *newest + 1).await?;
    }
    old.iter().try_for_each(|(_, file)| fs::remove_file(file))?;
    remove_unnamed_arguments(journal)?;
    Ok(i64::try_from(old.len()).unwrap_or(i64::MAX))
}

/// The full files to remove, by number: oldest first, without gaps, because a chain with a gap cannot be
/// verified. The newest stays: the number of the current file follows from it.
fn old_files(files: &Files, position: u64, before: SystemTime) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut old = Vec::new();
    for (number, file) in files.full_before(position.min(files.newest().saturating_sub(1))) {
        if file.metadata()?.modified()? >= before {
            break;
        }
        old.push((number, file.to_owned()));
    }
    Ok(old)
}

/// Lets the check of the journal begin at this file, before the older ones are removed.
async fn move_base(store: &Store, journal: &Path, file: u64) -> Result<(), PruneError> {
    let time_ms = Files::list(journal)?.time_ms_of(file)?.unwrap_or(0);
    let moved = Base { position: Position::start_at(file), time_ms };
    let write = store.write(move |tx| match tampering::base(tx)? {
        Some(base) if base.position.file >= moved.position.file => Ok(()),
        _ => tampering::set_base(tx, &moved),
    });
    Ok(write.await?)
}

/// Removes the files of large arguments that no remaining record names: each use renews a file's change time
/// before its record is written, so one that is older than the oldest record is not in use.
fn remove_unnamed_arguments(journal: &Path) -> io::Result<()> {
    let Some(oldest) = Files::list(journal)?.oldest_time_ms()? else { return Ok(()) };
    let unused =
        SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(oldest).unwrap_or(0)) - SHORTEST;
    let entries = match fs::read_dir(journal.with_file_name(ARGUMENTS_DIRECTORY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.metadata()?.modified()? < unused {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
