//! The supervisor's database, opened read-only: a file in the data directory, or, where the variable
//! [`store::fixture::SERVER`] has the URL of a PostgreSQL server, a schema there.

use std::path::Path;
use std::sync::Arc;

use protocol::Event;
use protocol::event::EventPayload;
use store::events::{COLUMNS, from_row};
use store::fixture::SERVER;
use store::sql::address::ServerAddress;
use store::sql::{Connection, Result, Row, Value};
use store::{Location, queries};

/// The database, opened for each query, so it can be queried whether or not the system runs.
#[derive(Debug, Clone)]
pub struct Database(Location);

impl Database {
    pub fn in_data(data: &Path) -> Self {
        let Some(url) = server_url(data) else { return Self(data.join("db").join("autonous.db").into()) };
        Self(Location::Server(Arc::new(ServerAddress::parse(&url).expect("the variable has a server's URL"))))
    }

    /// Its file, unless it is on a server.
    pub fn file(&self) -> Option<&Path> {
        self.0.file()
    }

    /// All rows of a query, mapped by `read`; none while the database does not exist.
    pub fn rows<T>(&self, query: &str, read: impl Fn(&Row<'_>) -> Result<T>) -> Vec<T> {
        let rows = self.apart(|connection| -> Vec<Vec<Value>> {
            let rows = connection.query_all(query, [], |row| row.values());
            rows.unwrap_or_else(|error| panic!("invalid query {query}: {error}"))
        });
        let read = |row: &Vec<Value>| {
            read(&Row::Server(row)).unwrap_or_else(|error| panic!("unreadable row of {query}: {error}"))
        };
        rows.unwrap_or_default().iter().map(read).collect()
    }

    /// The first column of each row, as text.
    pub fn texts(&self, query: &str) -> Vec<String> {
        self.rows(query, |row| row.get(0))
    }

    /// Changes it as no program does: to have what takes long to come about.
    pub fn change(&self, sql: &str) {
        let change = || {
            let connection = store::open::for_writing(&self.0).expect("the database exists");
            connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        };
        std::thread::scope(|scope| scope.spawn(change).join().expect("the change is made"));
    }

    pub fn count(&self, query: &str) -> i64 {
        self.rows(query, |row| row.get(0)).first().copied().unwrap_or(0)
    }

    /// The same as a size.
    pub fn size(&self, query: &str) -> usize {
        usize::try_from(self.count(query)).unwrap_or_default()
    }

    /// How many events of this type there are.
    pub fn events_of(&self, event_type: &str) -> usize {
        self.size(&format!("select count(*) from events where type = '{event_type}'"))
    }

    pub fn events(&self) -> Vec<Event> {
        self.rows(&format!("select {COLUMNS} from events order by seq"), from_row)
    }

    pub fn payloads<T: EventPayload + Clone>(&self) -> Vec<T> {
        self.events().iter().filter_map(|event| T::of(&event.body).cloned()).collect()
    }

    pub fn has_event(&self, event_type: &str) -> bool {
        self.events().iter().any(|event| event.body.event_type() == event_type)
    }

    pub fn task_states(&self) -> Vec<String> {
        self.texts("select state from inbox order by seq")
    }

    /// Asks on a thread of its own: a server's client waits, which a thread of a test's runtime may not.
    fn apart<T: Send>(&self, ask: impl FnOnce(&Connection) -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| Some(ask(&queries::open(&self.0).ok()?)));
            asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// The URL of the database that belongs to a data directory, if it is on a server.
pub(crate) fn server_url(data: &Path) -> Option<String> {
    let url = std::env::var(SERVER).ok()?;
    let separator = if url.contains('?') { '&' } else { '?' };
    Some(format!("{url}{separator}options=-c%20search_path%3D{}", schema(data)))
}

/// The schema of a data directory: its path, as far as a name can have it.
fn schema(data: &Path) -> String {
    let name: String = data.to_string_lossy().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("e2e_{}", name.to_ascii_lowercase())
}

/// Makes or removes the schema of a data directory, if the database is on a server.
pub(crate) fn on_server(data: &Path, verb: &str, ending: &str) {
    let Ok(url) = std::env::var(SERVER) else { return };
    let server = ServerAddress::parse(&url).expect("the variable has a server's URL");
    store::fixture::on(&server, &format!("{verb} {}{ending}", schema(data)));
}
