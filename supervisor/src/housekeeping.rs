//! Housekeeping, once a day: deletes what is older than `AUTONOUS_RETENTION` and merges SQLite's log.
//!
//! The time of the last one is in the database, so restarts neither skip it nor repeat it. A failure is
//! logged and the work is tried again with the next.

use std::path::PathBuf;
use std::time::Duration;

use protocol::{EventId, now_ms};
use tokio_util::sync::CancellationToken;

use crate::data_dir::DataDir;
use crate::retention::{delete, record};
use crate::store::retention::Pruned;
use crate::store::{Store, StoreError, kv, open};
use crate::terminal::age::Span;

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
    /// Does what is due until `stop`.
    pub(crate) async fn keep(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.tidy_if_due() => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_PAUSE) => {}
            }
        }
    }

    async fn tidy_if_due(&self) {
        let done = match self.store.write(|tx| kv::get(tx, kv::LAST_HOUSEKEEPING)).await {
            Ok(last) if !is_due(last.as_deref(), now_ms()) => return,
            Ok(_) => self.tidy().await,
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(pruned) if pruned == Pruned::default() => tracing::debug!("nothing is old enough to delete"),
            Ok(pruned) => tracing::info!(?pruned, "deleted what is older than AUTONOUS_RETENTION"),
            Err(error) => tracing::error!(error, "housekeeping failed; it is tried again tomorrow"),
        }
    }

    async fn tidy(&self) -> Result<Pruned, String> {
        let now = now_ms();
        let noted = self.store.write(move |tx| kv::set(tx, kv::LAST_HOUSEKEEPING, &now.to_string())).await;
        noted.map_err(|error| error.to_string())?;
        let mut pruned = Pruned::default();
        if let Some(retention) = self.retention {
            let before_ms = retention.before(now);
            pruned = delete(&self.store, &self.data.journal(), before_ms).await.map_err(|e| e.to_string())?;
            if pruned != Pruned::default() {
                let recorded = record(&self.store, Some(&self.run), before_ms, pruned).await;
                recorded.map_err(|error| error.to_string())?;
            }
        }
        merge_log(self.data.database()).await.map_err(|error| error.to_string())?;
        Ok(pruned)
    }
}

/// Merges SQLite's log into the database. Without readers the log is empty afterwards.
pub(crate) async fn merge_log(database: PathBuf) -> Result<(), StoreError> {
    let merged = tokio::task::spawn_blocking(move || open::merge_log(&database)).await;
    merged.unwrap_or(Err(StoreError::Closed))
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
