//! What waits in the database, for the routes that tell it.

use std::time::Duration;

use store::queries::figures::{Figures, figures};
use store::queries::{self, QueryError};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::monitor::Monitor;

/// How long reading may take; the rest is sent all the same.
const PATIENCE: Duration = Duration::from_millis(800);

/// None while the database gives no answer.
pub(super) async fn waiting(monitor: &Monitor) -> Option<Figures> {
    let database = monitor.database_location();
    // Read past the writer, which another program may keep waiting; the parts tell of that.
    let read = spawn_blocking(move || Ok::<_, QueryError>(figures(&queries::open(&database)?)?));
    timeout(PATIENCE, read).await.ok()?.ok()?.ok()
}
