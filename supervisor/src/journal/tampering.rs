//! What the database knows of a journal that was tampered with: where its check begins, what was found, and
//! who accepted it. On the caller's transaction.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use protocol::event::{JournalAccepted, JournalTampered};
use protocol::{Event, EventId, now_ms};
use serde::{Deserialize, Serialize};
use store::sql::Connection;
use store::{StoreError, events, kv};

use super::chain::Position;
use super::compare::Mismatch;
use super::files::Files;

/// Where the checked part of the journal begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    #[serde(flatten)]
    pub position: Position,
    /// When its first record was written; the events of older ones may have no record any more.
    pub(crate) time_ms: i64,
}

impl Base {
    /// The beginning of the oldest file that there is.
    pub(crate) fn of(files: &Files) -> io::Result<Self> {
        let position = Position::start_at(files.oldest());
        Ok(Self { position, time_ms: files.oldest_time_ms()?.unwrap_or(0) })
    }
}

/// What was found first, until an operator accepts it.
pub fn open_finding(connection: &Connection) -> Result<Option<JournalTampered>, StoreError> {
    stored(connection, kv::JOURNAL_TAMPERED)
}

pub fn base(connection: &Connection) -> Result<Option<Base>, StoreError> {
    stored(connection, kv::JOURNAL_BASE)
}

pub(crate) fn set_base(connection: &Connection, base: &Base) -> Result<(), StoreError> {
    kv::set(connection, kv::JOURNAL_BASE, &serde_json::to_string(base)?)
}

pub fn position(connection: &Connection) -> Result<Option<Position>, StoreError> {
    stored(connection, kv::JOURNAL_POSITION)
}

fn stored<T: for<'de> Deserialize<'de>>(connection: &Connection, key: &str) -> Result<Option<T>, StoreError> {
    let text = kv::get(connection, key)?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// Records what was found. The first finding stays until it is accepted.
pub(crate) fn record(
    connection: &Connection,
    mismatch: Mismatch,
    expected: &Position,
    left: &RecordsLeft,
    run: Option<&EventId>,
) -> Result<(), StoreError> {
    let missing = left.missing(connection)?;
    let found = JournalTampered {
        error: mismatch.what,
        file: mismatch.file,
        offset: mismatch.offset,
        expected_hash: expected.last_hash.clone(),
        found_hash: mismatch.found_hash,
        missing_records: missing.len(),
        first_missing_id: missing.first().cloned(),
        last_missing_id: missing.last().cloned(),
    };
    tracing::error!(
        error = found.error,
        missing_records = found.missing_records,
        "the journal was tampered with; `supervisor journal accept` accepts it as it is"
    );
    if open_finding(connection)?.is_none() {
        kv::set(connection, kv::JOURNAL_TAMPERED, &serde_json::to_string(&found)?)?;
    }
    events::append(connection, &Event::now(found, run, None))
}

/// Accepts the journal as it was read: from now on it is checked from there. None if nothing was found.
pub fn accept(
    connection: &Connection,
    reason: &str,
    run: Option<&EventId>,
) -> Result<Option<JournalAccepted>, StoreError> {
    let (Some(found), Some(position)) = (open_finding(connection)?, position(connection)?) else {
        return Ok(None);
    };
    let accepted = JournalAccepted {
        reason: reason.to_owned(),
        expected_hash: found.expected_hash,
        accepted_hash: position.last_hash.clone(),
    };
    set_base(connection, &Base { position, time_ms: now_ms() })?;
    kv::remove(connection, kv::JOURNAL_TAMPERED)?;
    events::append(connection, &Event::now(accepted.clone(), run, None))?;
    Ok(Some(accepted))
}

/// The records that the journal still has, to find those that it had: the hashes of their IDs.
#[derive(Debug)]
pub(crate) struct RecordsLeft {
    ids: HashSet<u64>,
    since_ms: i64,
}

impl RecordsLeft {
    /// Where the former content is unknown: in a part that was not read before.
    pub(crate) fn unknown() -> Self {
        Self { ids: HashSet::new(), since_ms: i64::MAX }
    }

    pub(crate) fn read(journal: &Path, base: &Base) -> io::Result<Self> {
        #[derive(Deserialize)]
        struct Identified {
            id: String,
        }
        let files = Files::list(journal)?;
        let mut ids = HashSet::new();
        for number in files.oldest()..=files.newest() {
            let Some(file) = files.open(number)? else { continue };
            for line in BufReader::new(file).split(b'\n') {
                let record = serde_json::from_slice(&line?).ok();
                ids.extend(record.map(|Identified { id }| short(&id)));
            }
        }
        Ok(Self { ids, since_ms: base.time_ms })
    }

    /// The events whose records are gone, oldest first.
    fn missing(&self, connection: &Connection) -> Result<Vec<String>, StoreError> {
        let sql = "select id from events where type in
                       ('tool_call.started', 'tool_call.completed', 'tool_call.failed', 'tool_call.replayed')
                   and time_ms >= ?1 order by seq";
        let mut ids: Vec<String> = connection.query_all(sql, [self.since_ms], |row| row.get(0))?;
        ids.retain(|id| !self.ids.contains(&short(id)));
        Ok(ids)
    }
}

fn short(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
