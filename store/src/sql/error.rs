//! Why a question to a database has no answer.

use std::error::Error as Cause;
use std::io;

/// Why a database could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite's.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// A server's.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Another supervisor writes as the same node.
    #[error(
        "another supervisor uses this database under the same name: stop it, or give one of them another \
         AUTONOUS_NODE"
    )]
    InUse,
    /// A query for one row found none.
    #[error("the query returned no rows")]
    NoRows,
    /// The answer has fewer columns.
    #[error("the answer has no column {0}")]
    NoColumn(usize),
    /// A stored value is not of its type.
    #[error("column {0} cannot be read: {1}")]
    Unreadable(usize, #[source] Box<dyn Cause + Send + Sync>),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRows,
            other => Self::Sqlite(other),
        }
    }
}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        Self::Server(error.into())
    }
}

impl Error {
    /// A stored value that does not parse.
    pub fn unreadable(column: usize, cause: impl Cause + Send + Sync + 'static) -> Self {
        Self::Unreadable(column, Box::new(cause))
    }

    /// SQLite's code, if it is SQLite's error.
    pub fn sqlite_error_code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Server(_) | Self::InUse | Self::NoRows | Self::NoColumn(_) | Self::Unreadable(..) => None,
        }
    }

    /// Whether the server gives no answer, or takes no connections now.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Server(error) if error.is_away)
    }

    /// Whether the database refuses the change itself: a constraint, or a trigger that guards an invariant.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Sqlite(_) => self.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation),
            Self::Server(error) => error.is_refusal(),
            Self::InUse | Self::NoRows | Self::NoColumn(_) | Self::Unreadable(..) => false,
        }
    }

    /// The same for another who waits for the same transaction.
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(code, words)) => {
                Self::Sqlite(rusqlite::Error::SqliteFailure(*code, words.clone()))
            }
            Self::Server(error) => Self::Server(error.clone()),
            Self::InUse => Self::InUse,
            other => {
                let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT);
                Self::Sqlite(rusqlite::Error::SqliteFailure(code, Some(other.to_string())))
            }
        }
    }
}

/// What a server said, or how it was lost.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{words}")]
pub struct ServerError {
    /// SQLSTATE, five characters; none if the server did not say it.
    state: Option<String>,
    words: String,
    /// Whether the server gives no answer, or takes no connections now.
    is_away: bool,
}

impl ServerError {
    /// An error of this program's own.
    pub(crate) fn new(words: String) -> Self {
        Self { state: None, words, is_away: false }
    }

    fn is_refusal(&self) -> bool {
        // Class 23: a constraint; P0001: `raise exception` in a trigger.
        self.state.as_deref().is_some_and(|state| state.starts_with("23") || state == "P0001")
    }
}

impl From<postgres::Error> for ServerError {
    fn from(error: postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            let detail = said.detail().map_or(String::new(), |detail| format!(" ({detail})"));
            let words = format!("PostgreSQL: {}{detail}", said.message());
            let state = said.code().code();
            // It starts, stops, has too many connections, or ended a transaction that stood still.
            let is_away = state.starts_with("57P") || state == "53300" || state == "25P03";
            return Self { state: Some(state.to_owned()), words, is_away };
        }
        let mut words = format!("PostgreSQL: {error}");
        let mut cause = error.source();
        while let Some(deeper) = cause {
            let said = deeper.to_string();
            if !words.contains(&said) {
                words.push_str(": ");
                words.push_str(&said);
            }
            cause = deeper.source();
        }
        Self { state: None, words, is_away: error.is_closed() || is_out_of_reach(&error) }
    }
}

/// Whether the network, or the machine behind it, gives no answer. A certificate that does not fit is another
/// case.
fn is_out_of_reach(error: &postgres::Error) -> bool {
    let kind = error.source().and_then(|cause| cause.downcast_ref()).map(io::Error::kind);
    let of_ours = [
        io::ErrorKind::InvalidData,
        io::ErrorKind::InvalidInput,
        io::ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied,
    ];
    kind.is_some_and(|kind| !of_ours.contains(&kind))
}
