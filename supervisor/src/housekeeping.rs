//! Housekeeping, once a day: deletes what is older than `AUTONOUS_RETENTION` and merges SQLite's log.
//!
//! The time of the last one is in the database, so restarts neither skip it nor repeat it. A failure is
//! logged and the work is tried again with the next.

use std::path::Path;
use std::time::{Duration, Instant};

use protocol::{EventId, now_ms};
use settings::quotas::DAY_MS;
use store::retention::Pruned;
use store::sql::Connection;
use store::{Location, Store, StoreError, events, kv, open};
use tokio_util::sync::CancellationToken;

use crate::clock_jump::ClockJump;
use crate::data_dir::DataDir;
use crate::retention::{PruneError, delete, record};
use settings::Span;

/// The time between two.
const PERIOD: Duration = Duration::from_secs(24 * 3600);

/// The pause before the clock is looked at again: a suspended machine does not count its sleep.
const LOOK_PAUSE: Duration = Duration::from_secs(600);

pub(crate) struct Housekeeping {
    pub(crate) store: Store,
    pub(crate) data: DataDir,
    pub(crate) run: EventId,
    /// How long tasks are kept after their end; none for ever.
    pub(crate) retention: Option<Span>,
}

impl Housekeeping {
    /// Does the housekeeping that is due until `stop`.
    pub(crate) async fn keep(self, stop: CancellationToken) {
        let keeping = async {
            let mut seen = (now_ms(), Instant::now());
            loop {
                self.look(&mut seen).await;
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        };
        stop.run_until_cancelled(keeping).await;
    }

    /// `seen` is the time of the last look, by the clock and by what cannot jump.
    async fn look(&self, seen: &mut (i64, Instant)) {
        let (before, passed) = (seen.0, millis_of(seen.1.elapsed()));
        let Some(retention) = self.retention else { return self.tidy_if_due().await };
        match self.store.write(move |tx| note_jump(tx, retention, (before, passed))).await {
            Ok(()) => {
                *seen = (now_ms(), Instant::now());
                self.tidy_if_due().await;
            }
            Err(error) => {
                tracing::error!(%error, "could not compare the clock with the records; nothing is deleted");
            }
        }
    }

    async fn tidy_if_due(&self) {
        let done = match self.store.write(|tx| kv::get(tx, kv::LAST_HOUSEKEEPING)).await {
            Ok(last) if !is_due(last.as_deref(), now_ms()) => return,
            Ok(_) => self.tidy().await,
            Err(error) => Err(error.into()),
        };
        match done {
            Ok(pruned) if pruned == Pruned::default() => tracing::debug!("nothing is old enough to delete"),
            Ok(pruned) => tracing::info!(?pruned, "deleted what is older than AUTONOUS_RETENTION"),
            Err(error) => {
                tracing::error!(error = error.to_string(), "housekeeping failed; it is tried again tomorrow")
            }
        }
    }

    async fn tidy(&self) -> Result<Pruned, PruneError> {
        let now = now_ms();
        self.store.write(move |tx| kv::set(tx, kv::LAST_HOUSEKEEPING, &now.to_string())).await?;
        let mut pruned = Pruned::default();
        if let Some(retention) = self.retention {
            let jump = self.store.write(jump).await?;
            let before_ms = retention.before(now) - jump.map_or(0, |jump| jump.by_ms);
            pruned = delete(&self.store, &self.data.journal(), before_ms, |_| ()).await?;
            if pruned != Pruned::default() {
                record(&self.store, Some(&self.run), before_ms, pruned).await?;
            }
        }
        merge_log(&self.data.database()).await?;
        Ok(pruned)
    }
}

/// Merges SQLite's log into the database, if that is a file. Without readers the log is empty afterwards.
pub(crate) async fn merge_log(database: &Location) -> Result<(), StoreError> {
    let Some(file) = database.file().map(Path::to_owned) else { return Ok(()) };
    let merged = tokio::task::spawn_blocking(move || open::merge_log(&file)).await;
    merged.unwrap_or(Err(StoreError::Closed))
}

fn jump(connection: &Connection) -> Result<Option<ClockJump>, StoreError> {
    let known = kv::get(connection, kv::CLOCK_JUMP)?;
    Ok(known.and_then(|known| serde_json::from_str(&known).ok()))
}

/// Notes that the clock is ahead of what was last recorded, before a start records anything.
pub(crate) fn note_jump_at_start(connection: &Connection, retention: Option<Span>) -> Result<(), StoreError> {
    let tidied = kv::get(connection, kv::LAST_HOUSEKEEPING)?.and_then(|last| last.parse().ok());
    let last = events::newest_time(connection)?.max(tidied);
    match (retention, last) {
        (Some(retention), Some(last)) => note_jump(connection, retention, (last, 0)),
        (_, _) => Ok(()),
    }
}

/// Notes a jump of the clock since a time, of which so much is known to have passed.
fn note_jump(connection: &Connection, retention: Span, passed: (i64, i64)) -> Result<(), StoreError> {
    let known = jump(connection)?;
    let noticed = ClockJump::noticed(known, passed, now_ms(), millis_of(retention.0));
    match &noticed {
        _ if noticed == known => {}
        None => kv::remove(connection, kv::CLOCK_JUMP)?,
        Some(jump) => {
            kv::set(connection, kv::CLOCK_JUMP, &serde_json::to_string(jump)?)?;
            tracing::warn!(
                days = jump.by_ms / DAY_MS,
                "the clock is far ahead of what was last recorded: what is older than AUTONOUS_RETENTION \
                 only by that is kept; `supervisor prune --older-than` deletes it"
            );
        }
    }
    Ok(())
}

fn millis_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Whether the last one was long ago, never, or in the future of a clock that was set back.
fn is_due(last: Option<&str>, now_ms: i64) -> bool {
    let Some(last) = last.and_then(|last| last.parse::<i64>().ok()) else { return true };
    last > now_ms || Span(PERIOD).before(now_ms) >= last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_once_a_day() {
        const DAY: i64 = 86_400_000;
        for (last, now, expected) in [
            (None, DAY, true),
            (Some("no number"), DAY, true),
            (Some("0"), DAY, true),
            (Some("1"), DAY, false),
            (Some("86400001"), DAY, true),
        ] {
            assert_eq!(is_due(last, now), expected, "{last:?}");
        }
    }
}
