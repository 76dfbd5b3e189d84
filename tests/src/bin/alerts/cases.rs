//! What causes each alert, with the real programs.

use std::fs;
use std::thread;
use std::time::Duration;

use harness::fake_telegram::update::ADA;
use harness::system::direct_ls;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, Request, System, ToolServer, http, wait};
use rusqlite::Connection;
use serde_json::json;

use crate::prometheus::{Prometheus, Target};

/// Starts a Prometheus for targets, which it has scraped when this returns.
type Start<'a> = &'a dyn Fn(&[Target]) -> Prometheus;

/// Causes an alert and says whether it fired.
type Case = fn(Start<'_>, &str) -> bool;

/// By the alert's name.
pub(crate) const CASES: &[(&str, Case)] = &[
    ("AutonousDown", down),
    ("AutonousNotReady", no_model),
    ("AutonousPartFailed", no_model),
    ("AutonousTasksWait", |start, alert| old_tasks(start, alert, 1_200_000)),
    ("AutonousTaskRunsLong", |start, alert| old_tasks(start, alert, 8_000_000)),
    ("AutonousRepliesWait", old_reply),
    ("AutonousApprovalsWait", approval),
    ("AutonousTasksGivenUp", no_model),
    ("AutonousRepliesGivenUp", blocked_bot),
    ("AutonousModelFails", no_model),
    ("AutonousRestarts", killed_workers),
    ("AutonousToolsFail", failing_tools),
    ("AutonousOverloaded", overload),
    ("AutonousTokensRefused", wrong_tokens),
];

pub(crate) fn targets(system: &System) -> [Target; 2] {
    let tokens = system.tokens();
    [
        Target {
            job: "autonous",
            address: http::address_of(&tokens.control_url),
            token: tokens.control_token,
        },
        Target {
            job: "autonous-tool-server",
            address: http::address_of(&tokens.tool_url),
            token: tokens.tool_token,
        },
    ]
}

fn alone(server: &ToolServer) -> [Target; 1] {
    [Target { job: "autonous-tool-server", address: server.address(), token: "none".to_owned() }]
}

fn down(start: Start<'_>, alert: &str) -> bool {
    let mut system = System::start();
    let prometheus = start(&targets(&system));
    system.stop();
    prometheus.fires(alert)
}

/// The model fails for good, task after task.
fn no_model(start: Start<'_>, alert: &str) -> bool {
    let model = FakeModel::answering(vec![ModelReply::Broken]);
    let builder = System::builder().model(&model).variable("AUTONOUS_CONTROL_MAX_RETRIES", "0");
    let system = builder.variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1").start();
    let prometheus = start(&targets(&system));
    for chat in ["a", "b", "c", "d"] {
        let task = system.say_in(chat, "hello");
        system.reply(&task);
    }
    prometheus.fires(alert)
}

/// Stops a system, changes its database, and starts it again.
fn aged(system: &mut System, sql: &str) {
    system.stop();
    let database = Connection::open(system.dir().data().join("db/autonous.db")).expect("the database opens");
    database.execute_batch(sql).expect("the rows are changed");
    drop(database);
    system.restart();
}

/// Keeps the only worker busy with one chat while another one's task waits.
fn with_two_tasks(model: &FakeModel) -> System {
    let system = System::builder().workers(1).model(model).start();
    system.say_in("a", "hello");
    wait::until_true("a worker has the first", || !model.requests().is_empty());
    system.say_in("b", "hello");
    system
}

/// One that runs, and one that waits behind it.
fn old_tasks(start: Start<'_>, alert: &str, age_ms: u32) -> bool {
    let model = FakeModel::answering(vec![ModelReply::Silent]);
    let mut system = with_two_tasks(&model);
    aged(&mut system, &format!("update inbox set created_at_ms = created_at_ms - {age_ms}"));
    start(&targets(&system)).fires(alert)
}

fn old_reply(start: Start<'_>, alert: &str) -> bool {
    let telegram = FakeTelegram::start();
    telegram.fail_chat(4711, Some(Fault::ServerError));
    let mut system = System::builder().telegram(&telegram, "4711").start();
    telegram.push(ADA.text(&direct_ls(".")));
    wait::until_true("a reply waits", || {
        system.database().count("select count(*) from outbox where state = 'queued'") > 0
    });
    aged(&mut system, "update outbox set created_at_ms = created_at_ms - 1200000 where state = 'queued'");
    start(&targets(&system)).fires(alert)
}

fn approval(start: Start<'_>, alert: &str) -> bool {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";
    let system = System::builder().policy(rules).start();
    system.say("/write {\"path\": \"a\", \"content\": \"x\"}");
    start(&targets(&system)).fires(alert)
}

fn blocked_bot(start: Start<'_>, alert: &str) -> bool {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "4711").start();
    let prometheus = start(&targets(&system));
    telegram.fail_chat(4711, Some(Fault::Blocked));
    telegram.push(ADA.text(&direct_ls(".")));
    prometheus.fires(alert)
}

fn killed_workers(start: Start<'_>, alert: &str) -> bool {
    let system = System::builder().workers(1).start();
    let prometheus = start(&targets(&system));
    for _ in 0..5 {
        let killed = system.child("agent-worker").pid;
        system.kill_child("agent-worker");
        wait::until_true("another one runs", || {
            system.children().iter().any(|child| child.is("agent-worker") && child.pid != killed)
        });
    }
    prometheus.fires(alert)
}

/// Calls that cannot be recorded, because the journal is gone.
fn failing_tools(start: Start<'_>, alert: &str) -> bool {
    let server = ToolServer::start();
    let prometheus = start(&alone(&server));
    let journal = server.dir().journal();
    fs::remove_dir_all(journal.parent().expect("it has a directory")).expect("its directory is ours");
    for session in 0..12 {
        let call = Request::call("ls", &json!({"path": "."}));
        let answer = server.send(call.of_session(&format!("s{session}"))).envelope();
        assert!(!answer.ok, "{answer:?}");
        // Between two scrapes.
        wait::out(Duration::from_millis(300));
    }
    prometheus.fires(alert)
}

fn overload(start: Start<'_>, alert: &str) -> bool {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_COMMANDS", "1").start();
    let prometheus = start(&alone(&server));
    for _ in 0..2 {
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| server.call("bash", &json!({"cmd": "sleep 4"})));
            }
        });
    }
    prometheus.fires(alert)
}

fn wrong_tokens(start: Start<'_>, alert: &str) -> bool {
    let system = System::start();
    let targets = targets(&system);
    let address = targets[0].address;
    let prometheus = start(&targets);
    for guess in 0..40 {
        let request = Request::get("/status").bearer(&format!("guess-{guess}"));
        assert_eq!(request.send(address).status, 401);
    }
    prometheus.fires(alert)
}
