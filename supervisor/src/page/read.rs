//! Reads the database for a view, past the writer.

use std::sync::Arc;

use store::queries::QueryError;
use store::sql::Connection;
use tokio::task::spawn_blocking;

use super::error::PageError;
use crate::control::Control;

/// What a query answers.
pub(super) async fn read<T, Q>(control: &Control, query: Q) -> Result<T, PageError>
where
    T: Send + 'static,
    Q: FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
{
    let readers = Arc::clone(&control.readers);
    let read = spawn_blocking(move || readers.read(query)).await;
    match read {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(PageError::missing("answer")),
    }
}
