//! Limits and cancels: a task always ends, what runs is ended with it, and the answer is honest.

use protocol::event::{ControlLimitReached, TurnCompleted};
use protocol::{Outcome, ToWorker};

use crate::model_server::{ModelServer, Reply, calls, says};
use crate::process::{Ended, Worker, soon, task};
use crate::tool_server::{Next, ToolServer};

fn check_limit(ended: &Ended, limit: &str, expected: &[&str]) {
    assert!(matches!(ended.outcome, Outcome::Done { .. }));
    for part in expected {
        assert!(ended.reply().contains(part), "{part:?} is not in {}", ended.reply());
    }
    let reached = ended.of::<ControlLimitReached>();
    assert_eq!(reached.len(), 1);
    assert_eq!(reached[0].1.limit, limit);
    assert_eq!(reached[0].0.parent_id.as_ref(), Some(&ended.events[0].id));
    assert_eq!(ended.types().last(), Some(&"agent.completed"));
}

#[tokio::test]
async fn too_many_turns_end_with_what_was_done() {
    let tools = ToolServer::start([]).await;
    let looks = ["{}", r#"{"path":"a"}"#, "{}", "{}"].map(|arguments| calls(&[("ls", arguments)]));
    let model = ModelServer::start(looks).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_CONTROL_MAX_TURNS", "3"));
    let ended = Worker::start(&variables).run(&task("look")).await;
    check_limit(&ended, "turns", &["3 turns", "- ls {}: exit 0", "noted: let me look", "no final answer"]);
    assert_eq!((ended.of::<TurnCompleted>().len(), tools.calls().len()), (3, 3));
}

#[tokio::test]
async fn too_many_tokens_end_the_task_and_cached_input_does_not_count() {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start([calls(&[("ls", "{}")])]).await;
    let mut variables = model.variables(&tools.url);
    // Each turn counts 100 - 60 + 20.
    variables.push(("AUTONOUS_CONTROL_MAX_TOKENS", "120"));
    let ended = Worker::start(&variables).run(&task("look")).await;
    check_limit(&ended, "tokens", &["120 tokens"]);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn the_wall_time_ends_a_running_tool_call() {
    let tools = ToolServer::start([Next::Silence]).await;
    let model = ModelServer::start([calls(&[("bash", "{}")])]).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "1"));
    let mut worker = Worker::start(&variables);
    let ended = worker.run(&task("wait")).await;
    check_limit(&ended, "wall_time", &["1 seconds", "- bash {}: was running, its outcome is unknown"]);
    soon(tools.abandoned()).await;
}

#[tokio::test]
async fn the_wall_time_ends_a_running_request_to_the_model() {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start([Reply::Silence]).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "1"));
    let ended = Worker::start(&variables).run(&task("wait")).await;
    check_limit(&ended, "wall_time", &["no tool was called"]);
    assert!(ended.of::<TurnCompleted>().is_empty());
}

#[tokio::test]
async fn a_cancel_ends_a_running_tool_call_and_says_what_was_done() {
    let silence = [Next::Answer(Box::new(crate::tool_server::success("x")), None), Next::Silence];
    let tools = ToolServer::start(silence).await;
    let model = ModelServer::start([calls(&[("ls", "{}"), ("bash", "{}")])]).await;
    let mut worker = Worker::start(&model.variables(&tools.url));
    let task = task("wait");
    worker.send_task(&task).await;
    soon(async {
        while tools.calls().len() < 2 {
            tools.called().await;
        }
    })
    .await;
    worker.send(&ToWorker::Cancel { task_id: task.task_id.clone() }).await;
    let ended = worker.ended(&task).await;
    soon(tools.abandoned()).await;
    let expected = "Cancelled.\n\nDone so far:\n- ls {}: exit 0\n\
                    - bash {}: was running, its outcome is unknown\n\nThe last thing I noted: let me look";
    assert_eq!(ended.outcome, Outcome::Cancelled { reply: expected.to_owned() });
    assert_eq!(ended.types().last(), Some(&"agent.failed"));
}

#[tokio::test]
async fn a_cancel_ends_a_running_request_to_the_model_and_the_next_task_runs() {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start([Reply::Silence, says("hello")]).await;
    let mut worker = Worker::start(&model.variables(&tools.url));
    let first = task("wait");
    worker.send_task(&first).await;
    soon(model.asked()).await;
    worker.send(&ToWorker::Cancel { task_id: first.task_id.clone() }).await;
    assert!(matches!(worker.ended(&first).await.outcome, Outcome::Cancelled { .. }));
    assert_eq!(worker.run(&task("hi")).await.reply(), "hello");
}

#[tokio::test]
async fn a_cancel_of_another_task_changes_nothing() {
    let tools = ToolServer::start([Next::Silence]).await;
    let mut worker = Worker::start(&[
        ("AUTONOUS_TOOL_URL", &tools.url),
        ("AUTONOUS_TOOL_TOKEN", crate::tool_server::TOKEN),
    ]);
    let running = task("ls");
    worker.send(&ToWorker::Cancel { task_id: running.task_id.clone() }).await;
    worker.send_task(&running).await;
    soon(tools.called()).await;
    worker.send(&ToWorker::Cancel { task_id: task("other").task_id }).await;
    worker.send(&ToWorker::Cancel { task_id: running.task_id.clone() }).await;
    let ended = worker.ended(&running).await;
    assert!(ended.reply().contains("- ls {}: was running"), "{}", ended.reply());
}
