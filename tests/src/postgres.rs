//! A PostgreSQL server of a test's own, in a directory that goes away.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use store::fixture::{on, try_on};
use store::sql::address::ServerAddress;
use store::sql::{self, Value};
use store::{Location, queries};
use tempfile::TempDir;

use crate::free_address;
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
    /// The size of the disk that has the tables, as `mount` takes it.
    disk: Option<&'static str>,
}

impl Postgres {
    /// Makes a server and starts it. Its commits do not wait for the disk.
    pub fn start() -> Self {
        Self::make(false, None)
    }

    /// The same with commits that survive a power cut, for measurements.
    pub fn synced() -> Self {
        Self::make(true, None)
    }

    /// Makes one whose tables are on a disk of this size, such as `16m`. Its other files are elsewhere.
    pub fn on_a_disk_of(size: &'static str) -> Self {
        let server = Self::make(false, Some(size));
        server.tell(&format!("create tablespace small location '{}'", server.disk().display()));
        server.tell("alter database postgres set default_tablespace = small");
        server
    }

    /// Takes all of its disk that is free.
    pub fn fill(&self) {
        // Fewer and fewer rows at a time, until not even two find room; plain storage compresses none.
        self.say(KEEPER, "create table filler (t text) tablespace small");
        self.say(KEEPER, "alter table filler alter t set storage plain");
        for rows in [1000, 100, 10, 2] {
            let some = format!("insert into filler select repeat('x', 4000) from generate_series(1, {rows})");
            while try_on(&self.asked_by(KEEPER, "postgres"), &some).is_ok() {}
        }
    }

    /// Makes room again.
    pub fn empty(&self) {
        self.say(KEEPER, "drop table filler");
    }

    /// Makes a server that follows this one by streaming replication, and reaches it at this address.
    pub fn standby(&self, at: SocketAddr) -> Self {
        let standby = Self::place(self.is_synced, None);
        let (host, port) = (at.ip().to_string(), at.port().to_string());
        let from = ["-h", &host, "-p", &port, "-U", USER, "-R", "-c", "fast", "--no-sync", "-D"];
        standby.run("pg_basebackup", &[&from[..], &[&standby.data()]].concat());
        standby.go_on();
        standby
    }

    /// Has a server that follows another one take changes itself.
    pub fn promote(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "promote"]);
    }

    /// Whether this machine has one.
    pub fn is_installed() -> bool {
        find_programs().is_some()
    }

    fn make(is_synced: bool, disk: Option<&'static str>) -> Self {
        let server = Self::place(is_synced, disk);
        let data = server.data();
        server.run(
            "initdb",
            &["--username", USER, "--auth", "trust", "--locale", "C", "--no-sync", "-D", &data],
        );
        server.go_on();
        server.say(USER, &format!("create role {KEEPER} superuser login"));
        server
    }

    /// A directory and a port for a server.
    fn place(is_synced: bool, disk: Option<&'static str>) -> Self {
        let directory =
            tempfile::Builder::new().prefix("autonous-postgres-").tempdir().expect("it is writable");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let programs = find_programs().expect("PostgreSQL is missing: `./setup.sh test` installs it");
        let server = Self { directory, programs, port: free_address().port(), is_synced, disk };
        fs::create_dir(server.disk()).expect("it is new");
        if rustix::process::geteuid().is_root() {
            // The server refuses to run as root.
            for path in [server.path(), &server.disk()] {
                chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give files away");
            }
        }
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
        connection.query_all(sql, [], shown).map_err(|error| error.to_string())
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it, or starts it again.
    pub fn go_on(&self) {
        let (port, place) = (self.port, self.path().display());
        let sync = if self.is_synced { "on" } else { "off" };
        let options = format!("-c listen_addresses=127.0.0.1 -p {port} -k {place} -c fsync={sync}");
        self.run("pg_ctl", &["-D", &self.data(), "-l", &self.log_file(), "-o", &options, "-w", "start"]);
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

    /// Changes a setting of the server.
    pub fn set(&self, name: &str, value: &str) {
        self.tell(&format!("alter system set {name} = '{value}'"));
        self.tell("select pg_reload_conf()");
    }

    /// Runs a statement as the server's owner, in a database that nothing else uses.
    pub fn tell(&self, sql: &str) {
        on(&self.asked_by(KEEPER, "template1"), sql);
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn say(&self, user: &str, sql: &str) {
        on(&self.asked_by(user, "postgres"), sql);
    }

    fn asked_by(&self, user: &str, database: &str) -> ServerAddress {
        let url = format!("postgres://{user}@127.0.0.1:{}/{database}", self.port);
        ServerAddress::parse(&url).expect("it is a URL")
    }

    fn data(&self) -> String {
        self.path().join("data").display().to_string()
    }

    fn log_file(&self) -> String {
        self.path().join("log").display().to_string()
    }

    /// Where its tables are, if these have a disk of their own.
    fn disk(&self) -> PathBuf {
        self.path().join("disk")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(OsString::from));
        let (mut user, mut group) =
            (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if user == 0 {
            (user, group) = (NOBODY, NOBODY);
            add(&["setpriv", "--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
        }
        if let Some(size) = self.disk {
            // A mount that only this server sees, made without root.
            let mount = "mount -t tmpfs -o size=$0,mode=0777 none disk && exec \"$@\"";
            add(&["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, size]);
            let (user, group) = (format!("--map-user={user}"), format!("--map-group={group}"));
            add(&["unshare", "--user", &user, &group]);
        }
        words.push(self.programs.join(program).into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // The server keeps what `pg_ctl` has open: a file, and no pipe.
        let said = self.path().join("said");
        let run = command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        let run = run.stdout(Stdio::null()).stderr(fs::File::create(&said).expect("it is writable"));
        let status = run.status().expect("`./setup.sh test` installs it");
        let said = fs::read_to_string(said).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?} failed: {said}{}", self.log());
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
    // A link to it is where the others may not be.
    let found = places.filter_map(|place| place.join("initdb").canonicalize().ok());
    found.filter_map(|program| Some(program.parent()?.to_owned())).max()
}
