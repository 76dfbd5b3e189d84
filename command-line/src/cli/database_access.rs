//! How a command may change the database: through the running supervisor, or itself when none is running.

use channel::Channels;
use protocol::EventId;
use store::{Store, events, queries};

use super::error::CommandError;
use supervisor::all_channels::channels;
use supervisor::config::ChannelSettings;
use supervisor::data_dir::{DataDir, DataDirError, DataDirLock};

/// Who may write to the database.
pub(super) enum DatabaseAccess {
    /// The running supervisor: send it a request.
    ViaSupervisor,
    Exclusive(ExclusiveStore),
}

/// The database, opened under the lock that a running supervisor would hold.
pub(super) struct ExclusiveStore {
    pub store: Store,
    /// All channels, without their settings: enough to format replies.
    pub channels: Channels,
    /// The last run: events from now on are recorded under it.
    pub run: EventId,
    _lock: DataDirLock,
}

/// Locks and opens the database, unless a running supervisor holds the lock.
pub(super) async fn database_access(data: &DataDir) -> Result<DatabaseAccess, CommandError> {
    queries::open(data.database())?;
    let lock = match data.lock() {
        Err(DataDirError::InUse(_)) => return Ok(DatabaseAccess::ViaSupervisor),
        lock => lock?,
    };
    let store = Store::open(data.database())?;
    let run = store.write(events::newest_run).await?;
    let run = run.unwrap_or_else(EventId::new);
    let channels = channels(&ChannelSettings::default(), None, &store)?;
    Ok(DatabaseAccess::Exclusive(ExclusiveStore { store, channels, run, _lock: lock }))
}
