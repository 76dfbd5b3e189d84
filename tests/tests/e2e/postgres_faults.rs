//! What a PostgreSQL server goes through: a standby takes over, it is slow, full or refuses, and it ends
//! sessions. Health says so, and nothing that was confirmed is lost.

use std::time::Duration;

use harness::system::direct_ls;
use harness::{Postgres, Request, System, SystemBuilder, Wire, wait};
use serde_json::json;

fn at(url: &str) -> SystemBuilder {
    System::builder().variable("AUTONOUS_DATABASE_URL", url)
}

fn is_ready(system: &System) -> bool {
    system.readyz().status == 200
}

/// Waits until health says this of the database.
fn wait_until_health_says(system: &System, words: &str) {
    wait::until_true(words, || {
        let part = system.part("database");
        part["state"] != "ok" && part["detail"].as_str().is_some_and(|detail| detail.contains(words))
    });
}

/// A message that has a file written.
fn writing(name: &str) -> String {
    format!("write path={name}.txt content=hello")
}

/// Sends it; returns its task if it was confirmed.
fn try_to_say(system: &System, text: &str) -> Option<String> {
    let answer = system.control(Request::post_json("/messages", &json!({"text": text})));
    match answer.status {
        202 => answer.json()["task_id"].as_str().map(str::to_owned),
        status => {
            assert!(status >= 500, "what cannot be stored is an error of the server: {}", answer.text());
            None
        }
    }
}

/// Waits for the end of each task, whose file must be there.
fn all_are_done(system: &System, tasks: &[(String, String)]) {
    for (name, task) in tasks {
        system.reply(task);
        assert!(system.workspace().join(format!("{name}.txt")).exists(), "{name} was confirmed, and is lost");
    }
}

/// The address of a server and of the one that follows it.
fn url_of(first: &Postgres, second: &Postgres) -> String {
    let (first, second) = (first.address(), second.address());
    format!("postgres://autonous@{first},{second}/postgres?target_session_attrs=read-write")
}

#[test]
fn a_synchronous_standby_takes_over_with_all_that_was_confirmed() {
    let first = Postgres::start();
    let second = first.standby(first.address());
    first.set("synchronous_standby_names", "*");
    let mut system = at(&url_of(&first, &second)).workers(2).start();
    system.run_task(&writing("before"));
    let confirmed: Vec<(String, String)> = (0..20)
        .map(|number| {
            let (name, chat) = (format!("{number}"), format!("chat-{number}"));
            let task = system.say_in(&chat, &writing(&name));
            (name, task)
        })
        .collect();
    // Some of them run, and some wait.
    first.crash();
    second.promote();
    all_are_done(&system, &confirmed);
    wait::until_true("it is ready again", || is_ready(&system));
    system.run_task(&writing("after"));
    system.stop();
    system.restart();
    system.run_task(&writing("later"));
    system.stop();
}

#[test]
fn an_asynchronous_standby_takes_over_without_what_had_not_come_to_it() {
    let first = Postgres::start();
    let wire = Wire::to(first.address());
    let second = first.standby(wire.address());
    let mut system = at(&url_of(&first, &second)).start();
    let kept = system.run_task(&writing("kept"));
    let is_done = format!("select count(*) from inbox where id = '{kept}' and state = 'done'");
    wait::until_true("the standby has it", || second.try_ask(&is_done).is_ok_and(|rows| rows == ["1"]));
    wire.silence();
    let lost = system.run_task(&writing("lost"));
    first.crash();
    wire.cut();
    second.promote();
    wait::until_true("it is ready again", || is_ready(&system));
    system.run_task(&writing("after"));
    let count = |sql: &str| second.try_ask(&format!("select count(*) from {sql}")).unwrap().remove(0);
    assert_eq!(count(&format!("inbox where id = '{lost}'")), "0", "the standby did not have it");
    // Its call is in the journal, which is read on from where the standby was.
    wait::until_true("all calls are events", || count("events where type = 'tool_call.completed'") == "3");
    assert_eq!(system.part("journal")["state"], "ok", "{}", system.part("journal"));
    system.stop();
}

#[test]
fn a_slow_database_delays_and_breaks_nothing() {
    let server = Postgres::start();
    let wire = Wire::to(server.address());
    let mut system = at(&server.url_at(wire.address())).start();
    // In each direction: 20 ms for each question.
    wire.delay(Duration::from_millis(10));
    let asked: Vec<(String, String)> =
        ["one", "two"].map(|name| (name.to_owned(), system.say_in(name, &writing(name)))).into();
    all_are_done(&system, &asked);
    assert!(is_ready(&system), "{}", system.part("database"));
    system.stop();
}

#[test]
fn a_full_database_is_named_and_takes_changes_again_when_it_has_room() {
    let server = Postgres::on_a_disk_of("24m");
    let mut system = at(&server.url("")).start();
    server.fill();
    let mut confirmed = Vec::new();
    for number in 0..200 {
        let name = format!("{number}");
        match try_to_say(&system, &writing(&name)) {
            Some(task) => confirmed.push((name, task)),
            None => break,
        }
    }
    wait_until_health_says(&system, "No space left on device");
    server.empty();
    wait::until_true("it is ready again", || is_ready(&system));
    all_are_done(&system, &confirmed);
    system.run_task(&writing("after"));
    system.stop();
}

#[test]
fn a_database_that_refuses_everybody_is_named_and_taken_up_again() {
    let server = Postgres::start();
    let mut system = at(&server.url("")).start();
    let before = ("before".to_owned(), system.say(&writing("before")));
    server.tell("alter database postgres allow_connections false");
    server.tell("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'postgres'");
    wait_until_health_says(&system, "not currently accepting connections");
    assert!(try_to_say(&system, &direct_ls(".")).is_none());
    server.tell("alter database postgres allow_connections true");
    wait::until_true("it is ready again", || is_ready(&system));
    all_are_done(&system, &[before]);
    system.run_task(&writing("after"));
    system.stop();
}

#[test]
fn a_server_that_ends_idle_sessions_is_asked_again() {
    let server = Postgres::start();
    let mut system = at(&server.url("")).start();
    system.run_task(&writing("first"));
    // Those that only listen are never idle for long.
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = 'postgres' and state = 'idle' and query not like '%nodes%'
                   and query not like 'listen%' and query not like '%leaders%'";
    for number in 0..5 {
        server.tell(end);
        let name = format!("{number}");
        let task = try_to_say(&system, &writing(&name)).expect("the next one is asked over a new connection");
        all_are_done(&system, &[(name, task)]);
        assert!(is_ready(&system), "{}", system.part("database"));
    }
    assert!(!system.log().contains("could not"), "{}", system.log());
    system.stop();
}
