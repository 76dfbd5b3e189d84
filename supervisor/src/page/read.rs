//! Reads the database for a view, past the writer.

use rusqlite::Connection;
use store::queries::{self, QueryError};
use tokio::task::spawn_blocking;

use super::error::PageError;
use crate::control::Control;

/// What a query answers.
pub(super) async fn read<T, Q>(control: &Control, query: Q) -> Result<T, PageError>
where
    T: Send + 'static,
    Q: FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
{
    let database = control.monitor.database_path();
    let read = spawn_blocking(move || query(&queries::open(&database)?)).await;
    match read {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PageError::missing("answer")),
    }
}
