//! A PostgreSQL server of a test's own, in a directory that goes away.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use store::fixture::on;
use store::sql::address::ServerAddress;
use store::sql::{self, Value};
use store::{Location, queries};
use tempfile::TempDir;

use crate::test_dir::NOBODY;

/// The user that owns everything in it.
const USER: &str = "autonous";

/// Another user, who is never asked for a password.
const KEEPER: &str = "keeper";

/// The server, which runs until it is stopped or dropped.
#[derive(Debug)]
pub struct Postgres {
    directory: TempDir,
    programs: PathBuf,
    port: u16,
    /// Whether a commit waits for the disk.
    is_synced: bool,
}

impl Postgres {
    /// Makes a server and starts it. Its commits do not wait for the disk.
    pub fn start() -> Self {
        Self::make(false)
    }

    /// The same with commits that survive a power cut, for measurements.
    pub fn synced() -> Self {
        Self::make(true)
    }

    /// Whether this machine has one.
    pub fn is_installed() -> bool {
        find_programs().is_some()
    }

    fn make(is_synced: bool) -> Self {
        let directory =
            tempfile::Builder::new().prefix("autonous-postgres-").tempdir().expect("it is writable");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        if rustix::process::geteuid().is_root() {
            // The server refuses to run as root.
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("root can give files away");
        }
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free");
        let programs = find_programs().expect("PostgreSQL is missing: `./setup.sh test` installs it");
        let server = Self { directory, programs, port: port.port(), is_synced };
        let data = server.data();
        server.run(
            "initdb",
            &["--username", USER, "--auth", "trust", "--locale", "C", "--no-sync", "-D", &data],
        );
        server.go_on();
        server.say(USER, &format!("create role {KEEPER} superuser login"));
        server
    }

    /// What `AUTONOUS_DATABASE_URL` has to be; `more` are further options, such as `?passfile=/a`.
    pub fn url(&self, more: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres{more}", self.port)
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// What `AUTONOUS_DATABASE_URL` has to be for who reaches it by another address.
    pub fn url_at(&self, address: SocketAddr) -> String {
        format!("postgres://{USER}@{address}/postgres")
    }

    /// What the database says, each row as its columns with a space between them; an error is its words.
    pub fn try_ask(&self, sql: &str) -> Result<Vec<String>, String> {
        let address = ServerAddress::parse(&self.url("")).expect("it is a URL");
        let location = Location::Server(Arc::new(address));
        let connection = queries::open(&location).map_err(|error| error.to_string())?;
        let mut statement = connection.prepare(sql).map_err(|error| error.to_string())?;
        let rows = statement.query_map([], shown).map_err(|error| error.to_string())?;
        rows.map(|row| row.map_err(|error| error.to_string())).collect()
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it, or starts it again.
    pub fn go_on(&self) {
        let (port, place) = (self.port, self.path().display());
        let sync = if self.is_synced { "on" } else { "off" };
        let options = format!("-c listen_addresses=127.0.0.1 -p {port} -k {place} -c fsync={sync}");
        self.run("pg_ctl", &["-D", &self.data(), "-l", &self.log(), "-o", &options, "-w", "start"]);
    }

    /// Ends it as a crash does.
    pub fn crash(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    /// Gives its user a password, which new connections have to say from now on.
    pub fn set_password(&self, password: &str) {
        let rules = format!("host all {KEEPER} all trust\nhost all all all scram-sha-256\n");
        fs::write(self.path().join("data/pg_hba.conf"), rules).expect("it is writable");
        self.run("pg_ctl", &["-D", &self.data(), "reload"]);
        self.say(KEEPER, &format!("alter role {USER} password '{password}'"));
    }

    fn say(&self, user: &str, sql: &str) {
        let url = format!("postgres://{user}@127.0.0.1:{}/postgres", self.port);
        on(&ServerAddress::parse(&url).expect("it is a URL"), sql);
    }

    fn data(&self) -> String {
        self.path().join("data").display().to_string()
    }

    fn log(&self) -> String {
        self.path().join("log").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = if rustix::process::geteuid().is_root() {
            let user = NOBODY.to_string();
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
            command.arg(self.programs.join(program));
            command
        } else {
            Command::new(self.programs.join(program))
        };
        // The server keeps what `pg_ctl` has open.
        let run = command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        let run = run.stdout(Stdio::null()).stderr(Stdio::null());
        let status = run.status().expect("`./setup.sh test` installs it");
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?} failed; {log}");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.path().join("data/postmaster.pid").exists() {
            self.crash();
        }
    }
}

/// The columns of a row, with a space between them.
fn shown(row: &sql::Row<'_>) -> sql::Result<String> {
    let cells = row.values()?.into_iter().map(|cell| match cell {
        Value::Text(text) => text,
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    });
    Ok(cells.collect::<Vec<_>>().join(" "))
}

/// The directory of the server's programs; Debian has one for each version, outside of the search path.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = versions.map(|version| version.path().join("bin"));
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let places = places.chain(std::env::split_paths(&search_path).collect::<Vec<_>>());
    let has_it = |place: &PathBuf| place.join("initdb").exists();
    places.filter(has_it).max()
}
