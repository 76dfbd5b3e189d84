//! Connections that read the database past the writer, kept for the next who reads: opening one costs more
//! than most questions.

use std::sync::Mutex;

use store::Location;
use store::queries::{self, QueryError};
use store::sql::Connection;
use toolkit::locked;

/// More are closed when they have been used.
const MOST_KEPT: usize = 4;

#[derive(Debug)]
pub(crate) struct Readers {
    database: Location,
    kept: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn of(database: Location) -> Self {
        Self { database, kept: Mutex::default() }
    }

    /// Asks the database; blocks for as long as that takes.
    pub(crate) fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let kept = self.lock().pop();
        let connection = kept.map_or_else(|| queries::open(&self.database), Ok)?;
        let answer = query(&connection)?;
        let mut kept = self.lock();
        if kept.len() < MOST_KEPT {
            kept.push(connection);
        }
        Ok(answer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        locked(&self.kept)
    }
}
