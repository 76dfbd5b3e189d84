//! Readiness, heartbeats, the end of stdin, and lines that nobody can follow.

use protocol::FromWorker;
use protocol::event::TurnStarted;

use crate::process::{Worker, soon, task};
use crate::tool_server::{Next, TOKEN, ToolServer};

const DIRECT: [(&str, &str); 1] = [("AUTONOUS_MODEL_PROVIDER", "direct")];

#[tokio::test]
async fn the_first_line_is_a_heartbeat_without_a_task() {
    let mut worker = Worker::start(&DIRECT);
    assert_eq!(worker.next().await, Some(FromWorker::Heartbeat { task_id: None }));
}

#[tokio::test]
async fn heartbeats_go_on_while_a_task_runs_and_name_it() {
    let tools = ToolServer::start([Next::Silence]).await;
    let mut worker = Worker::start(&[("AUTONOUS_TOOL_URL", &tools.url), ("AUTONOUS_TOOL_TOKEN", TOKEN)]);
    let task = task("ls");
    worker.send_task(&task).await;
    worker.until::<TurnStarted>().await;
    let beat = FromWorker::Heartbeat { task_id: Some(task.task_id) };
    while worker.next().await.unwrap() != beat {}
}

#[tokio::test]
async fn the_end_of_stdin_ends_an_idle_worker() {
    let mut worker = Worker::start(&DIRECT);
    worker.next().await;
    worker.close_stdin();
    assert_eq!(worker.exit_code().await, Some(0));
}

#[tokio::test]
async fn the_end_of_stdin_ends_a_working_worker_and_its_running_call() {
    let tools = ToolServer::start([Next::Silence]).await;
    let mut worker = Worker::start(&[("AUTONOUS_TOOL_URL", &tools.url), ("AUTONOUS_TOOL_TOKEN", TOKEN)]);
    worker.send_task(&task("ls")).await;
    soon(tools.called()).await;
    worker.close_stdin();
    assert_eq!(worker.exit_code().await, Some(0));
    soon(tools.abandoned()).await;
}

#[tokio::test]
async fn a_malformed_line_ends_the_worker_with_code_2() {
    for line in ["", "hello", "[]", r#"{"type":"dance"}"#, r#"{"type":"task","text":"no id"}"#] {
        let mut worker = Worker::start(&DIRECT);
        worker.send_line(line).await;
        assert_eq!(worker.exit_code().await, Some(2), "{line}");
    }
}

#[tokio::test]
async fn a_second_task_beside_the_first_ends_the_worker_with_code_2() {
    let tools = ToolServer::start([Next::Silence]).await;
    let mut worker = Worker::start(&[("AUTONOUS_TOOL_URL", &tools.url), ("AUTONOUS_TOOL_TOKEN", TOKEN)]);
    worker.send_task(&task("ls")).await;
    worker.send_task(&task("ls")).await;
    assert_eq!(worker.exit_code().await, Some(2));
}

#[tokio::test]
async fn a_task_of_many_megabytes_is_read_and_answered() {
    let tools = ToolServer::start([]).await;
    let mut worker = Worker::start(&[("AUTONOUS_TOOL_URL", &tools.url), ("AUTONOUS_TOOL_TOKEN", TOKEN)]);
    let long = format!("ls path={}", "x".repeat(7 * 1024 * 1024));
    assert_eq!(worker.run(&task(&long)).await.reply(), "exit 0\na.txt");
}
