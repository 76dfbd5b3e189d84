//! Writing to the database while no supervisor runs: under the lock that a supervisor would hold.

use protocol::EventId;

use crate::data_dir::{DataDir, DataDirError, DataDirLock};
use crate::look::{self, LookError};
use crate::store::{Store, StoreError, events};

/// Who holds the database.
pub enum Holder {
    /// A running supervisor: it has to be asked.
    Supervisor,
    /// This process.
    Ourselves(Alone),
}

/// The database under the lock.
pub struct Alone {
    /// The database.
    pub store: Store,
    /// The last run: what is done now is recorded under it.
    pub run: EventId,
    _lock: DataDirLock,
}

/// Why the database could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum AloneError {
    /// There is no database to change.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The data directory can not be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database can not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes the database, unless a supervisor has it.
pub async fn holder(data: &DataDir) -> Result<Holder, AloneError> {
    look::open(&data.database())?;
    let lock = match data.lock() {
        Err(DataDirError::InUse(_)) => return Ok(Holder::Supervisor),
        lock => lock?,
    };
    let store = Store::open(&data.database())?;
    let run = store.write(|tx| events::newest_run(tx)).await?;
    Ok(Holder::Ourselves(Alone { store, run: run.unwrap_or_else(EventId::new), _lock: lock }))
}
