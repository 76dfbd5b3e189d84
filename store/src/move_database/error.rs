//! Why a database was not moved, and what to do about it.

use crate::queries::QueryError;
use crate::sql;
use crate::{Location, StoreError};

/// Why a database was not moved. None of them leaves anything behind in the target.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The source cannot be opened.
    #[error(transparent)]
    Source(#[from] QueryError),
    /// A newer program made one of them, or another supervisor uses it.
    #[error("{0}. Nothing was moved")]
    Store(#[from] StoreError),
    /// The server that is the source gives no answer, or refuses.
    #[error(
        "the database {0} cannot be read: {1}. Nothing was moved. See that the server runs, and that the \
         address, the user and the password are right"
    )]
    SourceServer(Location, StoreError),
    /// The target cannot be opened.
    #[error(
        "the database {0} cannot be written: {1}. Nothing was moved. See that the server runs, and that the \
         address, the user and the password are right and may make tables"
    )]
    Target(Location, StoreError),
    /// Its tables have to be updated first.
    #[error(
        "the database {location} has version {found}, and this program moves only version {known}. Nothing \
         was moved. Start the supervisor once, which updates it, stop it, and move the database then"
    )]
    Older {
        /// The database.
        location: Location,
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the database {0} is damaged ({1}). Nothing was moved. Restore a backup first: see docs/backup.md"
    )]
    Damaged(Location, String),
    /// A file has one node.
    #[error("the database {0} cannot be moved yet: {1}. Nothing was moved")]
    Nodes(Location, String),
    /// The target has something in it.
    #[error(
        "the database {location} is not empty: its table {table} has {rows} rows. Nothing was changed. \
         Choose an empty database, such as a new one of the same server"
    )]
    NotEmpty {
        /// The target.
        location: Location,
        /// A table with rows.
        table: String,
        /// How many.
        rows: i64,
    },
    /// What one engine has and the other lacks.
    #[error(
        "the tables of the two databases are not the same: {0}. Nothing was moved. Remove what does not \
         belong to the supervisor's tables"
    )]
    OtherTables(String),
    /// A character that PostgreSQL does not keep.
    #[error(
        "{column} of {row} has a NUL character, which PostgreSQL cannot keep. Nothing was moved. Remove the \
         character, such as with the program sqlite3 while no supervisor runs, and move the database then"
    )]
    Nul {
        /// The row, in words.
        row: String,
        /// The column.
        column: String,
    },
    /// A text that is not UTF-8.
    #[error(
        "{column} of {row} is not UTF-8 text, which PostgreSQL cannot keep. Nothing was moved. Correct it, \
         such as with the program sqlite3 while no supervisor runs, and move the database then"
    )]
    NoText {
        /// The row, in words.
        row: String,
        /// The column.
        column: String,
    },
    /// The target refuses a row.
    #[error("{location} refuses {row}: {cause}. Nothing was moved. Correct this row, and move then")]
    Refused {
        /// The target.
        location: Location,
        /// The row, in words.
        row: String,
        /// What it said.
        cause: Box<sql::Error>,
    },
    /// What was written is not what was read.
    #[error(
        "the copy of the table {table} is not its source: {there} rows of {here}, hash {copy} instead of \
         {original}. Nothing was moved. Please report this"
    )]
    Unequal {
        /// The table.
        table: String,
        /// Rows of the source.
        here: u64,
        /// Rows of the target.
        there: u64,
        /// The hash of the source.
        original: String,
        /// The hash of the target.
        copy: String,
    },
    /// Reading failed in the middle.
    #[error("reading the database {0} failed: {1}. Nothing was moved. Try again")]
    Read(Location, sql::Error),
    /// Writing failed in the middle.
    #[error(
        "writing the database {0} failed: {1}. Nothing was moved. See that the server runs, or that the disk \
         has room, and try again"
    )]
    Write(Location, sql::Error),
    /// The connection was lost while the server ended the transaction.
    #[error(
        "the server did not confirm the last step at {0}: {1}. Either all was moved or nothing. Try again: \
         if all is there, this command says that the database is not empty"
    )]
    NotConfirmed(Location, sql::Error),
}

impl MoveError {
    /// Why the server that is the source cannot be used.
    pub(super) fn source(location: &Location, error: StoreError) -> Self {
        if error.is_in_use() { error.into() } else { Self::SourceServer(location.clone(), error) }
    }

    /// Why the target cannot be used.
    pub(super) fn target(location: &Location, error: StoreError) -> Self {
        match error {
            StoreError::Newer { .. } => error.into(),
            _ if error.is_in_use() => error.into(),
            StoreError::Database(cause) if location.file().is_some() => Self::Write(location.clone(), cause),
            _ => Self::Target(location.clone(), error),
        }
    }
}
