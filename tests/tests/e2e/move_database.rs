//! The database moves to a server and back: people see no difference, and what fails leaves no trace.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use harness::binaries::path_of;
use harness::{FakeModel, ModelReply, Postgres, System, SystemBuilder, TestDir, program, wait};
use store::sql::Connection;
use store::sql::address::ServerAddress;
use store::{Location, open};

/// A system whose database is a file, wherever those of other tests are.
fn in_a_file() -> SystemBuilder {
    System::builder().variable("AUTONOUS_DATABASE_URL", "")
}

fn database_of(dir: &TestDir) -> PathBuf {
    dir.data().join("db/autonous.db")
}

fn location(server: &Postgres) -> Location {
    Location::Server(Arc::new(ServerAddress::parse(&server.url("")).unwrap()))
}

/// The tables of a server, which are made if they are not there yet.
fn tables_at(server: &Postgres) -> Connection {
    open::for_writing(location(server)).unwrap()
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn assert_no_tables(server: &Postgres) {
    let error = store::queries::open(location(server)).unwrap_err().to_string();
    assert!(error.contains("has no tables"), "{error}");
}

/// What commands say of everything that is in the database; which node ran a task is not asked of a file.
fn everything(system: &System) -> Vec<String> {
    let shown = |command: &&[&str]| program::stdout_of(&system.run_set_up(command));
    let commands: [&[&str]; 7] = [
        &["tasks", "--json"],
        &["tree", "--all", "--json"],
        &["audit", "--json"],
        &["audit", "--refused", "--json"],
        &["schedules", "--json"],
        &["chats", "--json"],
        &["usage", "--json"],
    ];
    commands.iter().map(shown).map(|said| without_nodes(&said)).collect()
}

fn without_nodes(json: &str) -> String {
    let lines = json.lines().filter(|line| !line.trim_start().starts_with("\"node\":"));
    lines.map(|line| line.trim_end_matches(',')).collect::<Vec<_>>().join("\n")
}

/// Rows that take a long time to come about.
fn add_what_waits(file: &Path) {
    let rows = "
        insert into schedules (id, channel, chat_id, text, timezone, next_at_ms, created_at_ms, updated_at_ms)
        values ('reminder', 'local', 'local', 'water the plants', 'UTC', 4000000000000, 1, 1);
        insert into outbox (part, channel, chat_id, text, state, attempt, available_at_ms, error, event_id,
                            created_at_ms, updated_at_ms, finished_at_ms)
        values (1, 'telegram', '7', 'Never sent', 'dead', 3, 1, 'blocked', 'e', 1, 1, 1);";
    open::for_writing(file).unwrap().execute_batch(rows).unwrap();
}

#[test]
fn a_chat_continues_at_a_server_and_then_in_a_file_again() {
    let server = Postgres::start();
    let answers = ["Four.", "Five.", "Six."].map(|text| ModelReply::Text(text.to_owned()));
    let model = FakeModel::answering(answers.to_vec());
    let mut system = in_a_file().model(&model).start();
    assert_eq!(system.reply(&system.say("two and two")), "Four.");
    system.tool("ls", &serde_json::json!({"path": "."}));
    system.stop();
    let (file, url) = (database_of(system.dir()), system.dir().path().join("database-url"));
    add_what_waits(&file);
    fs::write(&url, server.url("") + "\n").unwrap();
    let (before, bytes) = (everything(&system), fs::read(&file).unwrap());
    let in_url_file = url.display().to_string();
    let said = program::stdout_of(&system.run_set_up(&["move-database", "--to-url-file", &in_url_file]));
    let setting = format!("[data]\n  database_url_file = {in_url_file:?}\n");
    assert!(said.contains("events") && said.contains("equal") && said.contains(&setting), "{said}");
    assert!(said.contains("was not changed") && fs::read(&file).unwrap() == bytes, "{said}");

    let settings = system.dir().data().join("autonous.toml");
    fs::write(&settings, setting).unwrap();
    assert_eq!(everything(&system), before);
    system.restart();
    assert_eq!(system.reply(&system.say("and one more")), "Five.");
    let asked = model.requests().pop().unwrap().to_string();
    assert!(asked.contains("two and two") && asked.contains("Four."), "{asked}");
    assert_eq!(system.part("database")["detail"], "takes changes");
    system.stop();

    let before = everything(&system);
    assert!(before[0].contains("and one more"), "{before:?}");
    let back = || system.run_set_up(&["move-database", "--to", "sqlite", "--json"]);
    assert_refused(&back(), "autonous.db exists, perhaps as the copy from before");
    assert!(fs::read(&file).unwrap() == bytes);
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", file.display()));
    }
    let moved: serde_json::Value = serde_json::from_str(&program::stdout_of(&back())).unwrap();
    assert_eq!(moved["to"], file.display().to_string());
    assert!(moved["tables"].as_array().unwrap().iter().any(|table| table["name"] == "schedules"), "{moved}");
    let left = fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside the file");
    fs::remove_file(&settings).unwrap();
    assert_eq!(everything(&system), before);
    system.restart();
    assert_eq!(system.reply(&system.say("and another")), "Six.");
    assert!(model.requests().pop().unwrap().to_string().contains("Five."));
    system.stop();
}

fn assert_refused(output: &Output, wrong: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(wrong), "{wrong}: {output:?}");
    assert!(!said.contains("hidden") && output.stdout.is_empty(), "{output:?}");
}

/// Something that accepts connections and is no PostgreSQL server.
fn another_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    format!("postgres://ada:hidden@127.0.0.1:{port}/a")
}

#[test]
fn what_cannot_be_moved_is_refused_with_what_to_do_and_nothing_is_changed() {
    let server = Postgres::start();
    let mut system = in_a_file().start();
    system.run_task("hello");
    let url = server.url("");
    let refused = |system: &System, to: &str, wrong: &str| {
        assert_refused(&system.run_set_up(&["move-database", "--to", to]), wrong);
    };
    refused(&system, &url, "another supervisor is using");
    system.stop();
    let file = database_of(system.dir());
    let before = fs::read(&file).unwrap();
    refused(&system, "sqlite", "already. To move it there from a server");
    refused(&system, "mysql://a:hidden@b/c", "--to takes sqlite or the URL of a server");
    refused(&system, "postgres://a:hidden@b/c?sslmode=prefer", "sslmode=verify-full");
    refused(&system, "postgres://a:hidden@127.0.0.1:1/c", "See that the server runs");
    refused(&system, &url.replace("/postgres", "/other"), "database \"other\" does not exist");
    refused(&system, &another_server(), "See that the server runs");
    assert_refused(&system.run_set_up(&["move-database"]), "--to <URL|sqlite>");
    let no_file = ["move-database", "--to-url-file", "/no/such/file"];
    assert_refused(&system.run_set_up(&no_file), "--to-url-file=\"/no/such/file\"");
    assert_no_tables(&server);

    // Another supervisor uses the server.
    let mut other = System::builder().variable("AUTONOUS_DATABASE_URL", &url).start();
    refused(&system, &url, "stop the supervisors of these nodes first");
    other.stop();
    refused(&system, &url, "is not empty: its table");
    let to = |to: &str| other.run_set_up(&["move-database", "--to", to]);
    assert_refused(&to(&url), "run this command without AUTONOUS_DATABASE_URL");
    assert_refused(&to(&another_server()), "use pg_dump and pg_restore");
    assert!(fs::read(&file).unwrap() == before, "the source was never changed");
    assert!(!database_of(other.dir()).exists());

    let nothing = TestDir::new();
    let mut elsewhere = start(&nothing, &["move-database", "--to", &url]);
    assert!(!elsewhere.wait().unwrap().success());
    assert!(fs::read_dir(nothing.data()).unwrap().next().is_none(), "no directory was filled");
}

/// Starts a command whose output is kept.
fn start(dir: &TestDir, arguments: &[&str]) -> Child {
    let mut command = Command::new(path_of("supervisor"));
    command.args(arguments).env_clear().envs(dir.variables()).env("AUTONOUS_DATABASE_URL", "");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    dir.spawn(&mut command).unwrap()
}

/// Lets a move come as far as a table, where it waits for this connection.
fn hold(server: &Postgres, table: &str) -> Connection {
    let connection = tables_at(server);
    connection.begin().unwrap();
    connection.execute_batch(&format!("lock table {table} in share mode")).unwrap();
    connection
}

fn wait_until_it_is_held(connection: &Connection) {
    wait::until_true("the move waits in the middle", || {
        count(connection, "select count(*) from pg_locks where not granted") > 0
    });
}

/// Waits until no other program is connected, and checks that no row is there.
fn assert_empty(server: &Postgres) {
    let connection = tables_at(server);
    wait::until_true("the server has noticed", || {
        let others = "select count(*) from pg_stat_activity
                      where application_name = 'autonous' and pid <> pg_backend_pid()";
        count(&connection, others) == 0
    });
    for table in ["events", "inbox", "history", "kv", "schedules"] {
        assert_eq!(count(&connection, &format!("select count(*) from {table}")), 0, "{table}");
    }
    let off = "select count(*) from pg_trigger where tgenabled = 'D'";
    assert_eq!(count(&connection, off), 0, "all triggers are on");
}

#[test]
fn a_move_that_is_killed_or_loses_the_server_leaves_an_empty_one() {
    let server = Postgres::start();
    let mut system = in_a_file().start();
    system.run_task("hello");
    system.stop();
    add_what_waits(&database_of(system.dir()));
    let url = server.url("");
    let arguments = ["move-database", "--to", &url];

    let holding = hold(&server, "schedules");
    let mut killed = start(system.dir(), &arguments);
    wait_until_it_is_held(&holding);
    killed.kill().unwrap();
    killed.wait().unwrap();
    holding.roll_back();
    drop(holding);
    assert_empty(&server);

    let holding = hold(&server, "schedules");
    let lost = start(system.dir(), &arguments);
    wait_until_it_is_held(&holding);
    server.crash();
    assert_refused(&lost.wait_with_output().unwrap(), "Nothing was moved");
    drop(holding);
    server.go_on();
    assert_empty(&server);

    let moved = program::stdout_of(&system.run_set_up(&arguments));
    assert!(moved.contains("equal"), "{moved}");
    assert_eq!(count(&tables_at(&server), "select count(*) from schedules"), 1);
}

#[test]
fn a_file_that_cannot_be_written_to_its_end_does_not_come_about() {
    let server = Postgres::start();
    let mut system = System::builder().variable("AUTONOUS_DATABASE_URL", &server.url("")).start();
    system.run_task("hello");
    system.stop();
    let big = "insert into kv values ('big', repeat('x', 4000000))";
    tables_at(&server).execute_batch(big).unwrap();
    // No file may become larger than one or two megabytes.
    let supervisor = path_of("supervisor").display().to_string();
    let script = format!("trap '' XFSZ; ulimit -f 2048; exec {supervisor} move-database --to sqlite");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_clear().envs(system.dir().variables());
    let failed = command.env("AUTONOUS_DATABASE_URL", server.url("")).output().unwrap();
    assert_refused(&failed, "Nothing was moved. See that the server runs, or that the disk has room");
    let directory = database_of(system.dir()).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "nothing is left of it");

    // What a killed one has left is removed by the next.
    for ending in ["", "-wal"] {
        fs::write(directory.join(format!(".autonous.db.1.autonous-partial{ending}")), "half").unwrap();
    }
    let moved = program::stdout_of(&system.run_set_up(&["move-database", "--to", "sqlite"]));
    assert!(moved.contains("take AUTONOUS_DATABASE_URL"), "{moved}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "the file alone");
    let back = open::for_writing(database_of(system.dir())).unwrap();
    assert_eq!(count(&back, "select length(value) from kv where key = 'big'"), 4_000_000);
}
