//! A session with a PostgreSQL server.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use postgres::Client;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{ToSql as ServerParameter, Type};
use rusqlite::ToSql;
use rusqlite::types::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::address::ServerAddress;
use super::dialect::for_postgres;
use super::value::{Given, Taken};
use super::{Error, Result, ServerError};

/// More prepared statements than this are not kept: some texts have as many parameters as a list is long.
const MOST_STATEMENTS: usize = 512;

/// What the one writer of a node locks, with the hash of the schema and the node. The bytes of "auto".
pub(crate) const WRITER_LOCK: i32 = 0x6175_746f;

/// What each transaction of a schema locks, with the schema's hash: one node writes at a time. So rows get
/// their numbers in the order of the commits, and a reader that continues behind a number misses none; and a
/// transaction may count on what it has read, as on SQLite. The bytes of "nous".
const TRANSACTION_LOCK: i32 = 0x6e6f_7573;

/// The verbs are written for an engine that takes an index wherever there is one, and plans a statement once.
/// PostgreSQL reads all of a table that was small when it last counted it, and plans most of them each time.
const LIKE_SQLITE: &str = "set enable_seqscan = off; set plan_cache_mode = force_generic_plan; set jit = off";

/// Where a transaction can be rolled back to. A round trip is made only before something changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Savepoint {
    /// Only to its beginning.
    #[default]
    None,
    /// To here: nothing has changed since.
    Here,
    /// To the server's newest savepoint.
    Set,
}

/// A connection to a server. One that was lost is made again with the next question or transaction.
pub struct Session {
    address: Arc<ServerAddress>,
    is_reader: bool,
    /// Some until it is dropped.
    client: RefCell<Option<Client>>,
    statements: RefCell<HashMap<(String, Vec<Type>), postgres::Statement>>,
    rows_changed: Cell<u64>,
    is_in_transaction: Cell<bool>,
    /// Whether the connection is known to be gone, or to end now.
    is_lost: Cell<bool>,
    /// Whether something in the transaction has failed: the server refuses all that follows, and answers
    /// `commit` with a rollback.
    has_failed: Cell<bool>,
    savepoint: Cell<Savepoint>,
    /// Whether it is the one writer, and keeps all others out for as long as it is connected.
    is_the_writer: Cell<bool>,
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects, to write or only to read.
    pub(crate) fn connect(address: &Arc<ServerAddress>, is_reader: bool) -> Result<Self> {
        let client = waiting(|| connect(address, is_reader))?;
        Ok(Self {
            address: Arc::clone(address),
            is_reader,
            client: RefCell::new(Some(client)),
            statements: RefCell::default(),
            rows_changed: Cell::new(0),
            is_in_transaction: Cell::new(false),
            is_lost: Cell::new(false),
            has_failed: Cell::new(false),
            savepoint: Cell::default(),
            is_the_writer: Cell::new(false),
        })
    }

    fn client(&self) -> RefMut<'_, Client> {
        RefMut::map(self.client.borrow_mut(), |client| client.as_mut().expect("only dropping takes it"))
    }

    /// Connects again if the connection is gone. Within a transaction that would lose its beginning.
    fn be_connected(&self) -> Result<()> {
        if !self.is_in_transaction.get() && (self.is_lost.get() || self.client().is_closed()) {
            self.statements.borrow_mut().clear();
            let (address, is_reader) = (&self.address, self.is_reader);
            let client = waiting(|| connect(address, is_reader))?;
            *self.client() = client;
            self.is_lost.set(false);
            if self.is_the_writer.get() {
                self.keep_others_out()?;
            }
        }
        Ok(())
    }

    /// Becomes the one writer of the tables; [`Error::InUse`] if there is another one.
    pub(crate) fn be_the_writer(&self) -> Result<()> {
        self.is_the_writer.set(true);
        self.keep_others_out()
    }

    fn keep_others_out(&self) -> Result<()> {
        let node = "current_schema() || '/' || coalesce(current_setting('autonous.node', true), '')";
        let sql = format!("select pg_try_advisory_lock({WRITER_LOCK}, hashtext({node}))");
        let client = &mut *self.client();
        let is_alone = waiting(|| client.query_one(&sql, &[])?.try_get::<_, bool>(0))?;
        if !is_alone {
            // The next question tries again.
            let _ = waiting(|| client.batch_execute("select pg_terminate_backend(pg_backend_pid())"));
            return Err(Error::InUse);
        }
        Ok(())
    }

    pub(super) fn begin(&self) -> Result<()> {
        self.repeated_once(|| self.try_to_begin())
    }

    fn try_to_begin(&self) -> Result<()> {
        let lock = match self.is_reader {
            true => String::new(),
            false => format!("select pg_advisory_xact_lock({TRANSACTION_LOCK}, hashtext(current_schema()))"),
        };
        self.be_connected()?;
        self.has_failed.set(false);
        self.savepoint.set(Savepoint::None);
        self.is_in_transaction.set(true);
        self.batch(&format!("begin; {lock}")).inspect_err(|_| drop(self.end("rollback")))
    }

    /// Commits. A transaction in which something has failed is rolled back, and that is an error.
    pub(super) fn commit(&self) -> Result<()> {
        if self.has_failed.get() {
            self.end("rollback")?;
            return Err(failed_before());
        }
        self.end("commit")
    }

    pub(super) fn roll_back(&self) -> Result<()> {
        self.end("rollback")
    }

    fn end(&self, sql: &str) -> Result<()> {
        let ended = self.batch(sql);
        self.is_in_transaction.set(false);
        ended
    }

    /// From here on, [`Session::roll_back_to_savepoint`] leads back to here.
    pub(super) fn set_savepoint(&self) {
        self.savepoint.set(Savepoint::Here);
    }

    pub(super) fn roll_back_to_savepoint(&self) -> Result<()> {
        match self.savepoint.get() {
            Savepoint::Set => {
                self.batch("rollback to part")?;
                self.has_failed.set(false);
                Ok(())
            }
            // Even a question that fails ends the transaction.
            _ if self.has_failed.get() => Err(failed_before()),
            _ => Ok(()),
        }
    }

    /// Has the server keep a savepoint, if there is to be one, before something changes.
    fn before_a_change(&self) -> Result<()> {
        if self.savepoint.get() == Savepoint::Here {
            self.batch("savepoint part")?;
            self.savepoint.set(Savepoint::Set);
        }
        Ok(())
    }

    /// Runs statements that may change something.
    pub(crate) fn change(&self, sql: &str) -> Result<()> {
        self.before_a_change()?;
        self.batch(sql)
    }

    fn batch(&self, sql: &str) -> Result<()> {
        self.be_connected()?;
        let client = &mut *self.client();
        self.noted(waiting(|| client.batch_execute(sql)))
    }

    /// Remembers what a failure means for what follows.
    fn noted<T>(&self, answer: std::result::Result<T, postgres::Error>) -> Result<T> {
        answer.map_err(|error| {
            let error = Error::from(error);
            self.has_failed.set(true);
            if error.is_away() {
                self.is_lost.set(true);
            }
            error
        })
    }

    /// Asks again over another connection if this one was gone: a server ends sessions that are idle, and
    /// that is seen only then. For questions, and for what has changed nothing yet.
    fn repeated_once<T>(&self, ask: impl Fn() -> Result<T>) -> Result<T> {
        let was_in_transaction = self.is_in_transaction.get();
        ask().or_else(|error| match self.is_lost.get() && !was_in_transaction {
            true => ask(),
            false => Err(error),
        })
    }

    /// Hears from now on what the nodes of the schema tell.
    pub(crate) fn listen(&self) -> Result<()> {
        let schema = "select 'autonous_' || current_schema()";
        let client = &mut *self.client();
        waiting(|| {
            let channel: String = client.query_one(schema, &[])?.try_get(0)?;
            Ok(client.batch_execute(&format!("listen \"{channel}\""))?)
        })
    }

    /// What they told: waits for the first for at most this long.
    pub(crate) fn hear(&self, patience: Duration) -> Result<Vec<String>> {
        let client = &mut *self.client();
        waiting(|| {
            let mut told = Vec::new();
            let mut notifications = client.notifications();
            if let Some(first) = notifications.timeout_iter(patience).next()? {
                told.push(first.payload().to_owned());
            }
            while let Some(next) = notifications.iter().next()? {
                told.push(next.payload().to_owned());
            }
            Ok(told)
        })
    }

    /// The node that asks; none for a program that is none.
    pub(super) fn node(&self) -> Option<&str> {
        self.address.node()
    }

    pub(super) fn rows_changed(&self) -> u64 {
        self.rows_changed.get()
    }

    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        self.before_a_change()?;
        let (statement, given) = self.prepare(sql, values)?;
        let client = &mut *self.client();
        let parameters = parameters(&given);
        let rows = self.noted(waiting(|| client.execute(&statement, &parameters)))?;
        self.rows_changed.set(self.rows_changed.get() + rows);
        Ok(usize::try_from(rows).unwrap_or(usize::MAX))
    }

    pub(super) fn query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<Vec<Value>>> {
        // A change that is asked for rows returns those that it changes.
        if sql.contains("returning") {
            self.before_a_change()?;
            let rows = self.try_query(sql, values)?;
            self.rows_changed.set(self.rows_changed.get() + u64::try_from(rows.len()).unwrap_or(u64::MAX));
            return Ok(rows);
        }
        match self.is_reader {
            true => self.repeated_once(|| self.try_query(sql, values)),
            false => self.try_query(sql, values),
        }
    }

    fn try_query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<Vec<Value>>> {
        let (statement, given) = self.prepare(sql, values)?;
        let client = &mut *self.client();
        let parameters = parameters(&given);
        let rows = self.noted(waiting(|| client.query(&statement, &parameters)))?;
        let read = |row: &postgres::Row| {
            (0..row.len()).map(|column| Ok(row.try_get::<_, Taken>(column)?.0)).collect()
        };
        rows.iter().map(read).collect()
    }

    /// The statement, prepared for values of these types.
    fn prepare(&self, sql: &str, values: &[&dyn ToSql]) -> Result<(postgres::Statement, Vec<Given>)> {
        self.be_connected()?;
        let given = values.iter().map(|value| Given::new(*value)).collect::<Result<Vec<_>>>()?;
        let key = (sql.to_owned(), given.iter().map(Given::server_type).collect::<Vec<_>>());
        let mut statements = self.statements.borrow_mut();
        if let Some(statement) = statements.get(&key) {
            return Ok((statement.clone(), given));
        }
        let written = for_postgres(sql);
        let client = &mut *self.client();
        // A refusal would end the transaction.
        let is_guarded = self.is_in_transaction.get() && key.1.contains(&Type::UNKNOWN);
        if is_guarded {
            self.noted(waiting(|| client.batch_execute("savepoint types")))?;
        }
        let prepared = waiting(|| client.prepare_typed(&written, &key.1)).or_else(|error| {
            // Where nothing else says the type of a null, it is taken for a text.
            let is_open = error.code() == Some(&SqlState::INDETERMINATE_DATATYPE)
                || error.code() == Some(&SqlState::AMBIGUOUS_PARAMETER);
            let of_text = |kind: &Type| if *kind == Type::UNKNOWN { Type::TEXT } else { kind.clone() };
            let types: Vec<Type> = key.1.iter().map(of_text).collect();
            if !is_open {
                return Err(error);
            }
            if is_guarded {
                waiting(|| client.batch_execute("rollback to types"))?;
            }
            waiting(|| client.prepare_typed(&written, &types))
        });
        let statement = self.noted(prepared)?;
        if is_guarded {
            self.noted(waiting(|| client.batch_execute("release types")))?;
        }
        if statements.len() >= MOST_STATEMENTS {
            statements.clear();
        }
        statements.insert(key, statement.clone());
        Ok((statement, given))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let client = self.client.borrow_mut().take();
        waiting(move || drop(client));
    }
}

/// Waits for the server. The client refuses to wait on a thread that drives asynchronous work: such a thread
/// hands that work to another one meanwhile, or, where it is the only one, waits for another one.
fn waiting<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) => thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic))),
        Err(_) => work(),
    }
}

fn failed_before() -> Error {
    ServerError::new("PostgreSQL: something failed before in this transaction".to_owned()).into()
}

fn parameters(given: &[Given]) -> Vec<&(dyn ServerParameter + Sync)> {
    given.iter().map(|value| value as &(dyn ServerParameter + Sync)).collect()
}

fn connect(address: &ServerAddress, is_reader: bool) -> Result<Client> {
    let mut client = address.connect()?;
    client.batch_execute(if is_reader { "set default_transaction_read_only = on" } else { LIKE_SQLITE })?;
    Ok(client)
}
