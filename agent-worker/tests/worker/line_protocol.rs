//! Readiness, heartbeats, the end of stdin, and lines that make no sense.

use harness::worker::task;
use harness::{FakeToolServer, ToolReply, Worker};
use protocol::FromWorker;
use protocol::event::TurnStarted;

const DIRECT: [(&str, &str); 1] = [("AUTONOUS_MODEL_PROVIDER", "direct")];

#[test]
fn the_first_line_is_a_heartbeat_without_a_task() {
    let mut worker = Worker::start(DIRECT);
    let first = worker.next_line();
    assert!(matches!(first, Some(FromWorker::Heartbeat { task_id: None, model: Some(_), .. })), "{first:?}");
}

#[test]
fn heartbeats_go_on_while_a_task_runs_and_name_it() {
    let tools = FakeToolServer::start([ToolReply::Silent]);
    let mut worker = Worker::start(tools.variables());
    let task = task("ls");
    worker.send_task(&task);
    worker.wait_for::<TurnStarted>();
    let beat = FromWorker::Heartbeat { task_id: Some(task.task_id), model: None, waits_for_person: false };
    while worker.next_line().unwrap() != beat {}
}

#[test]
fn the_end_of_stdin_ends_an_idle_worker() {
    let mut worker = Worker::start(DIRECT);
    worker.next_line();
    worker.close_stdin();
    assert_eq!(worker.exit_code(), Some(0));
}

#[test]
fn the_end_of_stdin_ends_a_working_worker_and_its_running_call() {
    let tools = FakeToolServer::start([ToolReply::Silent]);
    let mut worker = Worker::start(tools.variables());
    worker.send_task(&task("ls"));
    tools.wait_for_calls(1);
    worker.close_stdin();
    assert_eq!(worker.exit_code(), Some(0));
    tools.wait_until_abandoned();
}

#[test]
fn a_malformed_line_ends_the_worker_with_code_2() {
    for line in ["", "hello", "[]", r#"{"type":"dance"}"#, r#"{"type":"task","text":"no id"}"#] {
        let mut worker = Worker::start(DIRECT);
        worker.send_line(line);
        assert_eq!(worker.exit_code(), Some(2), "{line}");
    }
}

#[test]
fn a_second_task_beside_the_first_ends_the_worker_with_code_2() {
    let tools = FakeToolServer::start([ToolReply::Silent]);
    let mut worker = Worker::start(tools.variables());
    worker.send_task(&task("ls"));
    worker.send_task(&task("ls"));
    assert_eq!(worker.exit_code(), Some(2));
}

#[test]
fn a_task_of_many_megabytes_is_read_and_answered() {
    let tools = FakeToolServer::start([]);
    let mut worker = Worker::start(tools.variables());
    let long = format!("ls path={}", "x".repeat(7 * 1024 * 1024));
    assert_eq!(worker.run(&task(&long)).reply(), "exit 0\na.txt");
}
