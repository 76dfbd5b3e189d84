//! How long chat B waits for an `ls` while chat A keeps the system busy.

use std::time::{Duration, Instant};

use harness::system::direct_ls;
use harness::{FakeModel, ModelReply, System, wait};
use serde_json::json;

use crate::report::Report;

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn run(report: &mut Report) {
    let system = System::builder().workers(4).start();
    system.say_in("a", &sleeping(60));
    until_running(&system);
    report.time("A sleeps for 60 s: B's ls", answered(&system, "b"), SECOND);
    drop(system);

    let system = System::builder().workers(4).start();
    for _ in 0..20 {
        system.say_in("a", &sleeping(3));
    }
    until_running(&system);
    report.time("20 tasks of A are queued: B's ls", answered(&system, "b"), 5 * SECOND);
    let running = system.database().size("select count(*) from inbox where state = 'in_progress'");
    report.exactly("… and of A run at once", running, 1);
    drop(system);

    let system = System::builder().workers(4).start();
    for _ in 0..10_000 {
        system.say_in("a", &direct_ls("."));
    }
    let left = system.database().count("select count(*) from inbox where state = 'queued'");
    report.row("10,000 messages of A: of them still queued", &left.to_string(), "any", left > 0);
    report.time("… B's ls", answered(&system, "b"), SECOND);
    drop(system);

    silent_model(report);
}

fn silent_model(report: &mut Report) {
    let model = FakeModel::start(|request| {
        let asked = request["messages"].to_string();
        if asked.contains("be silent") { ModelReply::Silent } else { ModelReply::text("Hello.") }
    });
    let system = System::builder().workers(4).model(&model).start();
    system.say_in("a", "be silent");
    wait::until_true("the model is silent", || !model.requests().is_empty());
    let begun = Instant::now();
    system.reply(&system.say_in("b", "hello"));
    report.time("The model is silent in A: B's answer", begun.elapsed(), SECOND);
}

fn sleeping(seconds: u64) -> String {
    format!("/bash {}", json!({"cmd": format!("sleep {seconds}"), "timeout_seconds": 90}))
}

fn until_running(system: &System) {
    wait::until_true("a command runs", || system.database().has_event("tool_call.started"));
}

/// How long this chat waits for the answer to an `ls`.
fn answered(system: &System, chat: &str) -> Duration {
    let begun = Instant::now();
    system.reply(&system.say_in(chat, &direct_ls(".")));
    begun.elapsed()
}
