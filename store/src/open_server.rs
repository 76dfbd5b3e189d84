//! Opens a database of a PostgreSQL server, and makes its tables.

use std::sync::Arc;

use super::schema::{MIGRATIONS, known_version};
use super::sql::address::ServerAddress;
use super::sql::server::Session;
use super::sql::{self, Connection, ServerError};
use super::{Location, StoreError};

/// What programs that make or change tables lock: one at a time. The bytes of "autonous".
const MIGRATION_LOCK: i64 = 0x6175_746f_6e6f_7573;

/// Opens and migrates the database; one that a newer program made is not changed.
pub(crate) fn for_writing(address: &Arc<ServerAddress>) -> Result<Connection, StoreError> {
    let connection = connect(address, false)?;
    connection.begin()?;
    migrate(&connection, address).inspect_err(|_| connection.roll_back())?;
    connection.commit()?;
    Ok(connection)
}

/// Opens it for reading.
pub(crate) fn for_reading(address: &Arc<ServerAddress>) -> Result<Connection, StoreError> {
    connect(address, true)
}

/// The version of the schema; none if the tables were never made.
pub(crate) fn version(connection: &Connection) -> sql::Result<Option<i64>> {
    let tables = "select count(*) from information_schema.tables
                  where table_schema = current_schema() and table_name = 'schema_version'";
    let has_tables = connection.query_row(tables, [], |row| row.get::<i64>(0))? > 0;
    let version = || connection.query_row("select version from schema_version", [], |row| row.get(0));
    has_tables.then(version).transpose()
}

/// Connects, to write or only to read, and changes nothing.
pub(crate) fn connect(address: &Arc<ServerAddress>, is_reader: bool) -> Result<Connection, StoreError> {
    Ok(Connection::Server(Box::new(Session::connect(address, is_reader)?)))
}

/// Makes or updates the tables, within the caller's transaction.
pub(crate) fn migrate(connection: &Connection, address: &Arc<ServerAddress>) -> Result<(), StoreError> {
    connection.execute_batch(&format!("select pg_advisory_xact_lock({MIGRATION_LOCK})"))?;
    let (found, known) = (version(connection)?, known_version());
    if let Some(found) = found.filter(|found| *found > known) {
        return Err(StoreError::Newer { location: Location::Server(Arc::clone(address)), found, known });
    }
    let mut steps: Vec<_> = MIGRATIONS.dirs().collect();
    steps.sort_by_key(|step| step.path());
    for (number, step) in (1..).zip(steps) {
        let Some(script) = step.get_file(step.path().join("postgres.sql")) else { continue };
        if found.is_none_or(|found| number > found) {
            let text = script.contents_utf8().ok_or_else(|| {
                sql::Error::from(ServerError::new(format!("{} is not UTF-8", script.path().display())))
            })?;
            connection.execute_batch(text)?;
        }
    }
    Ok(match found {
        None => connection.execute("insert into schema_version (version) values (?1)", [known]),
        Some(_) => connection.execute("update schema_version set version = ?1", [known]),
    }
    .map(drop)?)
}
