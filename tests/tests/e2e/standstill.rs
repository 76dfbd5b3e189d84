//! Processes that live and stand still: each is noticed, named by health and replaced, also at the start and
//! during a stop.

use std::time::Duration;

use harness::leftovers;
use harness::system::direct_ls;
use harness::{Request, System, ToolServer, signals, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Longer than any standstill lasts until it is noticed and ended.
const UNTIL_REPLACED: Duration = Duration::from_secs(75);

fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(wait::is_true_within(UNTIL_REPLACED, is_so), "timed out: {what}");
}

fn wait_for_part(system: &System, name: &str, state: &str, words: &str) {
    let is_so = |part: Value| {
        part["state"] == state && part["detail"].as_str().is_some_and(|detail| detail.contains(words))
    };
    eventually(&format!("{name} is {state}: {words}"), || is_so(system.part(name)));
}

/// The process that a tool server forked under this name.
fn forked(server: u32, name: &str) -> u32 {
    let found = wait::until(&format!("the {name} runs"), || {
        leftovers::processes_named(name).into_iter().find(|process| process.parent == server)
    });
    found.pid
}

#[test]
fn a_launcher_that_stands_still_ends_the_supervisor_so_that_it_is_started_again() {
    let mut system = System::start();
    signals::stop(system.launcher().unwrap().pid);
    wait_for_part(&system, "supervisor", "failed", "launcher");
    assert_eq!(system.readyz().status, 503);
    assert!(!system.wait().success());
    system.until_logged("gave no answer");
    system.restart();
    system.run_task(&direct_ls("."));
}

#[test]
fn a_launcher_that_stood_still_for_a_moment_costs_nothing() {
    let system = System::start();
    let launcher = system.launcher().unwrap().pid;
    signals::stop(launcher);
    wait_for_part(&system, "supervisor", "failed", "launcher");
    signals::send(launcher, Signal::CONT);
    wait_for_part(&system, "supervisor", "ok", "answers again");
    system.kill_child("agent-worker");
    wait_for_part(&system, "workers", "ok", "4 of 4");
}

#[test]
fn a_stop_ends_although_processes_stand_still() {
    for name in ["launcher", "tool-server", "agent-worker"] {
        let mut system = System::start();
        let pid = match name {
            "launcher" => system.launcher().unwrap().pid,
            name => system.child(name).pid,
        };
        signals::stop(pid);
        system.stop();
    }
}

#[test]
fn a_worker_that_stands_still_is_counted_out_and_replaced() {
    let system = System::builder().workers(2).start();
    let stopped = system.child("agent-worker").pid;
    signals::stop(stopped);
    wait_for_part(&system, "workers", "degraded", "1 of 2");
    wait_for_part(&system, "workers", "ok", "2 of 2");
    assert!(system.children().iter().all(|child| child.pid != stopped));
}

#[test]
fn children_that_stand_still_at_their_start_are_replaced() {
    let stops_once = "if [ ! -e \"$0.stopped\" ]; then touch \"$0.stopped\"; kill -STOP $$; fi; ";
    let worker = format!("{stops_once} echo '{{\"type\":\"heartbeat\"}}'; cat >/dev/null");
    let server = format!("{stops_once} touch \"$0.began\"; cat >/dev/null");
    let system = System::builder().scripted_children(&worker, &server).workers(1).start();
    let again = system.dir().programs().join("tool-server.began");
    eventually("the tool server is started again", || again.exists());
    eventually("the worker is started again", || {
        let of_workers = "select count(*) from events
                          where type = 'worker.spawned' and payload ->> 'child' = 'agent-worker'";
        system.database().count(of_workers) >= 2
    });
}

#[test]
fn a_spawner_that_stands_still_is_named_and_the_tool_server_replaced() {
    let system = System::start();
    assert!(system.tool("bash", &json!({"cmd": "true"})).ok);
    let server = system.child("tool-server").pid;
    signals::stop(forked(server, "spawner"));
    wait_for_part(&system, "commands", "failed", "no answer");
    eventually("the tool server is replaced", || system.child("tool-server").pid != server);
    wait_for_part(&system, "tool_server", "ok", "answers");
    assert!(system.tool("bash", &json!({"cmd": "true"})).ok);
}

#[test]
fn a_fetcher_that_stands_still_is_replaced_with_the_tool_server() {
    let system = System::start();
    let server = system.child("tool-server").pid;
    let fetcher = forked(server, "fetcher");
    signals::stop(fetcher);
    eventually("the tool server is replaced", || system.child("tool-server").pid != server);
    assert_ne!(forked(system.child("tool-server").pid, "fetcher"), fetcher);
}

/// Each time, because a server's threads end in any order, and what their end does can depend on that.
#[test]
fn what_stands_still_ends_with_its_server() {
    for _ in 0..8 {
        let mut server = ToolServer::builder().approver().start();
        let pid = server.program().pid();
        for name in ["spawner", "fetcher"] {
            signals::stop(forked(pid, name));
        }
        signals::send(pid, Signal::KILL);
        server.program().wait();
        leftovers::assert_no_process(server.dir());
    }
}

#[test]
fn a_tool_server_alone_ends_with_an_error_when_its_spawner_stands_still() {
    let mut server = ToolServer::start();
    signals::stop(forked(server.program().pid(), "spawner"));
    eventually("/readyz names it", || {
        let answer = server.send(Request::get("/readyz")).json();
        let checks = answer["checks"].as_array().cloned().unwrap_or_default();
        checks.iter().any(|check| check["name"] == "spawner" && check["ok"] == false)
    });
    assert!(!server.program().wait().success());
}
