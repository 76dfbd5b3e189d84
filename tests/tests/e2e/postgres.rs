//! The database on a PostgreSQL server: people see no difference, and nothing is lost while it is away.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use harness::binaries::path_of;
use harness::system::direct_ls;
use harness::{
    FakeModel, ModelReply, Postgres, Request, System, SystemBuilder, TestDir, program, signals, wait,
};
use rustix::process::Signal;
use serde_json::json;
use store::Location;
use store::sql::address::ServerAddress;

use crate::assert_says;

fn on(server: &Postgres, more: &str) -> SystemBuilder {
    System::builder().variable("AUTONOUS_DATABASE_URL", &server.url(more))
}

#[test]
fn a_chat_goes_on_after_a_restart_and_every_command_finds_it() {
    let server = Postgres::start();
    let model = FakeModel::answering(vec![ModelReply::text("Four."), ModelReply::text("Five.")]);
    let mut system = on(&server, "").model(&model).start();
    assert!(!system.dir().data().join("db/autonous.db").exists(), "there is no file");
    assert_eq!(system.reply(&system.say("two and two")), "Four.");
    system.stop();
    system.restart();
    assert_eq!(system.reply(&system.say("and one more")), "Five.");
    let asked = model.requests().pop().expect("two were asked").to_string();
    assert!(asked.contains("two and two") && asked.contains("Four."), "{asked}");
    for (command, shown) in [
        (&["tasks"][..], "2 done"),
        (&["tree"], "and one more"),
        (&["usage"], "local"),
        (&["version", "--check"], "schema"),
        (&["audit"], ""),
        (&["prune", "--older-than", "1h", "--dry-run"], "0 tasks"),
    ] {
        let said = program::stdout_of(&system.run_set_up(command));
        assert!(said.contains(shown), "{command:?}: {said}");
    }
    assert!(system.part("database")["detail"] == "takes changes", "{}", system.part("database"));
    let refused = system.run_set_up(&["backup", &system.dir().path().join("copy.db").display().to_string()]);
    assert_says(&program::refusal_of(&refused), &["pg_dump"]);
    system.stop();
}

#[test]
fn a_hangup_reads_the_settings_again() {
    let server = Postgres::start();
    let system = on(&server, "").start();
    signals::send(system.supervisor_pid(), Signal::HUP);
    system.until_logged("the settings were read again");
}

#[test]
fn a_server_that_goes_away_is_named_and_comes_back_without_a_loss() {
    let server = Postgres::start();
    let mut system = on(&server, "").start();
    system.run_task(&direct_ls("."));
    server.crash();
    wait::until_true("health names it", || {
        let answer = system.readyz();
        answer.status == 503 && answer.text().contains("PostgreSQL")
    });
    let late = Request::post_json("/messages", &json!({"text": direct_ls(".")}));
    let refused = system.control(late);
    assert!(refused.status >= 500, "what is not stored is not confirmed: {}", refused.text());
    server.go_on();
    wait::until_true("it is ready again", || system.readyz().status == 200);
    system.run_task(&direct_ls("."));
    assert_says(&program::stdout_of(&system.run_set_up(&["tasks"])), &["2 done"]);
    system.stop();
}

#[test]
fn a_start_waits_for_the_server() {
    let server = Postgres::start();
    let mut system = on(&server, "").start();
    system.stop();
    server.crash();
    system.start_again();
    wait::until_true("it says so", || system.log().contains("gives no answer; waiting"));
    server.go_on();
    system.wait_until_ready();
    system.run_task("write path=a.txt content=hello");
    assert!(system.workspace().join("a.txt").exists());
    let undone = system.reply(&system.say("/undo"));
    assert!(undone.contains("a.txt") && !system.workspace().join("a.txt").exists(), "{undone}");
    system.stop();
}

#[test]
fn a_password_that_changes_is_read_again_from_its_file() {
    let server = Postgres::start();
    server.set_password("first");
    let file = server.path().join("passwords");
    fs::write(&file, "*:*:*:*:first\n").unwrap();
    let mut system = on(&server, &format!("?passfile={}", file.display())).start();
    system.run_task(&direct_ls("."));
    server.set_password("second");
    server.crash();
    server.go_on();
    wait::until_true("health says why", || system.readyz().text().contains("password authentication failed"));
    fs::write(&file, "*:*:*:*:second\n").unwrap();
    wait::until_true("it is ready again", || system.readyz().status == 200);
    system.run_task(&direct_ls("."));
    assert!(!system.log().contains("first") && !system.log().contains("second"), "no password is logged");
    system.stop();
}

#[test]
fn a_second_supervisor_waits_until_the_first_has_ended() {
    let server = Postgres::start();
    let mut second = on(&server, "").start();
    second.stop();
    let mut first = on(&server, "").start();
    second.start_again();
    wait::until_true("it says so", || second.log().contains("another supervisor uses the database; waiting"));
    first.run_task(&direct_ls("."));
    first.kill();
    // It has the database now. The records that the other read are in the journal of another directory.
    wait::until_true("it misses them", || second.log().contains("the journal was tampered with"));
    second.stop();
}

#[test]
fn an_address_that_is_wrong_stops_the_start_and_hides_its_password() {
    let dir = TestDir::new();
    for (url, wrong) in [
        ("mysql://a:hidden@b/c", "postgres://user@host/database"),
        ("postgres://a:hidden@b/c?sslmode=prefer", "sslmode=verify-full"),
        ("postgres://a:hidden@b/c?sslkey=/k", "belong together"),
    ] {
        let mut tasks = Command::new(path_of("supervisor"));
        tasks.arg("tasks").env_clear().envs(dir.variables()).env("AUTONOUS_DATABASE_URL", url);
        let said = program::refusal_of(&tasks.output().unwrap());
        assert_says(&said, &["AUTONOUS_DATABASE_URL", wrong]);
        assert!(!said.contains("hidden"), "{said}");
    }
}

/// What a query of its engine says of the schema of a database.
fn names(location: impl Into<Location>, query: &str) -> Vec<String> {
    let connection = store::open::for_writing(location).unwrap();
    connection.query_all(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn both_engines_have_the_same_columns_triggers_and_indexes() {
    let (server, dir) = (Postgres::start(), TestDir::new());
    let address = Arc::new(ServerAddress::parse(&server.url("")).unwrap());
    for (of_file, of_server) in [
        (
            "select t.name || '.' || c.name from pragma_table_list as t, pragma_table_info(t.name) as c
             where t.type = 'table' and t.name not like 'sqlite%' order by 1",
            "select table_name || '.' || column_name from information_schema.columns
             where table_schema = 'public' and column_name <> 'rowid'
                 and table_name not in ('schema_version', 'tool_calls', 'task_audit')
             order by 1",
        ),
        (
            "select name from sqlite_schema where type = 'trigger' order by 1",
            "select distinct cast(trigger_name as text) from information_schema.triggers
             -- Those by which nodes tell each other: a file has one node.
             where trigger_name not like '%a_node' and trigger_name not like '%their_node'
                 and trigger_name not like '%its_node' and trigger_name not like '%everywhere'
                 and trigger_name not in ('decisions_go_to_who_asked', 'schedules_are_known_to_the_leader')
             order by 1",
        ),
        (
            "select name from sqlite_schema where type = 'index' and sql is not null order by 1",
            "select cast(indexname as text) from pg_indexes
             where schemaname = 'public' and indexname not like '%_key' and indexname not like '%_pkey'
             order by 1",
        ),
    ] {
        let file = names(dir.path().join("a.db"), of_file);
        let mut there = names(Location::Server(Arc::clone(&address)), of_server);
        there.sort();
        assert!(file.len() > 10, "{file:?}");
        assert_eq!(file, there);
    }
}
