//! One way to ask either engine: a connection to a SQLite file or to a PostgreSQL server.
//!
//! The verbs of this crate are written once, in the SQL that both engines read. What differs is in
//! [`dialect`]. Values are those of `rusqlite` on both: an integer has 64 bits, a flag is 0 or 1, JSON is a
//! text.

pub mod address;
pub mod dialect;
mod error;
mod params;
pub mod server;
mod value;

pub use rusqlite::types::{FromSql, Value, ValueRef};
pub use rusqlite::{ToSql, params};

pub use error::{Error, ServerError};
pub use params::{Params, params_from_iter};
use server::Session;

/// What a question to a database gives.
pub type Result<T> = std::result::Result<T, Error>;

/// An open database. Everything in it happens on one thread at a time.
#[derive(Debug)]
pub enum Connection {
    /// A file.
    Sqlite(rusqlite::Connection),
    /// A server, boxed: it is much larger.
    Server(Box<Session>),
}

impl From<rusqlite::Connection> for Connection {
    fn from(connection: rusqlite::Connection) -> Self {
        Self::Sqlite(connection)
    }
}

impl Connection {
    /// SQLite's own connection, for what only a file has.
    pub fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match self {
            Self::Sqlite(connection) => Some(connection),
            Self::Server(_) => None,
        }
    }

    /// A statement. Both engines keep those that were used last for the next who asks the same.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        Ok(match self {
            Self::Sqlite(connection) => Statement::Sqlite(connection.prepare_cached(sql)?),
            Self::Server(session) => Statement::Server(session, sql.to_owned()),
        })
    }

    /// Runs a statement. Returns how many rows it changed.
    pub fn execute(&self, sql: &str, parameters: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(parameters)
    }

    /// Runs statements without parameters, one after another, in the words of the engine.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Self::Server(session) => session.change(sql),
        }
    }

    /// Reads the first row of a query; [`Error::NoRows`] if there is none.
    pub fn query_row<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.query_optional(sql, parameters, read)?.ok_or(Error::NoRows)
    }

    /// The same; none if there is no row.
    pub fn query_optional<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.prepare(sql)?.query(parameters)?.next()?.map(|row| read(&row)).transpose()
    }

    /// Reads all rows of a query.
    pub fn query_all<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let (mut rows, mut values) = (statement.query(parameters)?, Vec::new());
        while let Some(row) = rows.next()? {
            values.push(read(&row)?);
        }
        Ok(values)
    }

    /// Begins a transaction that may write.
    pub fn begin(&self) -> Result<()> {
        match self {
            // Immediate: a transaction that begins as a reader cannot always become a writer.
            Self::Sqlite(connection) => Ok(connection.execute_batch("begin immediate")?),
            Self::Server(session) => session.begin(),
        }
    }

    /// The node whose connection it is, where several share a database; else none.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Sqlite(_) => None,
            Self::Server(session) => session.node(),
        }
    }

    /// Commits it. If that fails, the transaction is rolled back.
    pub fn commit(&self) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                let committed = connection.execute_batch("commit");
                if committed.is_err() {
                    self.roll_back();
                }
                Ok(committed?)
            }
            Self::Server(session) => session.commit(),
        }
    }

    /// Begins a part of a transaction: what is done from here on can be rolled back alone.
    pub(crate) fn begin_part(&self) -> Result<()> {
        match self {
            Self::Sqlite(connection) => connection.prepare_cached("savepoint part")?.execute([]).map(drop)?,
            Self::Server(session) => session.set_savepoint(),
        }
        Ok(())
    }

    /// Ends it. Fails if the part cannot be rolled back alone: then the whole transaction has to be.
    pub(crate) fn end_part(&self, is_kept: bool) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                if !is_kept {
                    connection.prepare_cached("rollback to part")?.execute([])?;
                }
                connection.prepare_cached("release part")?.execute([])?;
                Ok(())
            }
            Self::Server(_) if is_kept => Ok(()),
            Self::Server(session) => session.roll_back_to_savepoint(),
        }
    }

    /// Rolls it back, if there is one: some failures have already ended it.
    pub fn roll_back(&self) {
        let failure = match self {
            Self::Sqlite(connection) if connection.is_autocommit() => None,
            Self::Sqlite(connection) => connection.execute_batch("rollback").err().map(Error::from),
            Self::Server(session) => session.roll_back().err(),
        };
        if let Some(error) = failure {
            tracing::warn!(%error, "could not roll back a transaction");
        }
    }

    /// How many rows were changed since the connection was opened.
    pub(crate) fn rows_changed(&self) -> u64 {
        match self {
            Self::Sqlite(connection) => connection.total_changes(),
            Self::Server(session) => session.rows_changed(),
        }
    }
}

/// A statement of a connection.
#[expect(missing_debug_implementations, reason = "that of SQLite has none")]
pub enum Statement<'c> {
    /// SQLite's.
    Sqlite(rusqlite::CachedStatement<'c>),
    /// Its text, for the server's session.
    Server(&'c Session, String),
}

impl Statement<'_> {
    /// Runs it. Returns how many rows it changed.
    pub fn execute(&mut self, parameters: impl Params) -> Result<usize> {
        match self {
            Self::Sqlite(statement) => Ok(parameters.with(|values| statement.execute(values))?),
            Self::Server(session, sql) => parameters.with(|values| session.execute(sql, values)),
        }
    }

    /// Asks, and leaves it to the caller how many rows are read.
    pub fn query(&mut self, parameters: impl Params) -> Result<Rows<'_>> {
        Ok(match self {
            Self::Sqlite(statement) => Rows::Sqlite(parameters.with(|values| statement.query(values))?),
            Self::Server(session, sql) => {
                let rows = parameters.with(|values| session.query(sql, values))?;
                Rows::Server { rows, next: 0 }
            }
        })
    }
}

/// The rows of an answer. A server sends all of them; SQLite makes each when it is asked for.
#[expect(missing_debug_implementations, reason = "those of SQLite have none")]
pub enum Rows<'s> {
    /// SQLite's.
    Sqlite(rusqlite::Rows<'s>),
    /// A server's.
    Server {
        /// All of them.
        rows: Vec<Vec<Value>>,
        /// How many were read.
        next: usize,
    },
}

impl Rows<'_> {
    /// The next row, if there is one.
    #[expect(clippy::should_implement_trait, reason = "a row borrows from its rows")]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(match self {
            Self::Sqlite(rows) => rows.next()?.map(Row::Sqlite),
            Self::Server { rows, next } => {
                *next += 1;
                rows.get(*next - 1).map(|row| Row::Server(row))
            }
        })
    }
}

/// One row of an answer.
#[derive(Debug)]
pub enum Row<'r> {
    /// SQLite's.
    Sqlite(&'r rusqlite::Row<'r>),
    /// A server's, read whole.
    Server(&'r [Value]),
}

impl Row<'_> {
    /// The value of a column, numbered from 0.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Server(_) => {
                let value = self.get_ref(column)?;
                T::column_result(value).map_err(|error| Error::unreadable(column, error))
            }
        }
    }

    /// The same, borrowed.
    pub fn get_ref(&self, column: usize) -> Result<ValueRef<'_>> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)?),
            Self::Server(values) => values.get(column).map(ValueRef::from).ok_or(Error::NoColumn(column)),
        }
    }

    /// All columns.
    pub fn values(&self) -> Result<Vec<Value>> {
        match self {
            Self::Sqlite(row) => {
                let columns = 0..row.as_ref().column_count();
                columns.map(|column| Ok(row.get(column)?)).collect()
            }
            Self::Server(values) => Ok(values.to_vec()),
        }
    }

    /// A text column, borrowed.
    pub fn text(&self, column: usize) -> Result<&str> {
        self.get_ref(column)?.as_str().map_err(|error| Error::unreadable(column, error))
    }
}

#[cfg(test)]
impl Statement<'_> {
    /// How many steps SQLite took.
    pub(crate) fn steps(&self) -> i32 {
        match self {
            Self::Sqlite(statement) => statement.get_status(rusqlite::StatementStatus::VmStep),
            Self::Server(..) => panic!("a server does not count its steps"),
        }
    }
}
