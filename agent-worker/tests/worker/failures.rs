//! What breaks on the way, and who gets to hear of it.

use axum::http::StatusCode;
use protocol::{ErrorCode, Outcome};

use crate::model_server::{ModelServer, Reply, calls, refuses, says};
use crate::process::{Ended, Worker, soon, task};
use crate::tool_server::{Next, TOKEN, ToolServer, failure};

async fn run(replies: Vec<Reply>, tools: &ToolServer) -> (Ended, ModelServer) {
    let model = ModelServer::start(replies).await;
    let mut worker = Worker::start(&model.variables(&tools.url));
    (worker.run(&task("what is here?")).await, model)
}

fn failed(ended: &Ended) -> (&str, bool) {
    match &ended.outcome {
        Outcome::Failed { error, retryable, .. } => (error, *retryable),
        other => panic!("the task did not fail: {other:?}"),
    }
}

#[tokio::test]
async fn a_call_whose_connection_breaks_is_made_again_with_its_key_and_the_model_never_hears_of_it() {
    let tools = ToolServer::start([Next::Break, Next::Break]).await;
    let (ended, model) = run(vec![calls(&[("ls", "{}")]), says("done")], &tools).await;
    assert_eq!(ended.reply(), "done");
    let keys: Vec<_> = tools.calls().iter().map(|call| call.headers["Idempotency-Key"].clone()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key == keys[0]), "{keys:?}");
    assert_eq!(model.tool_results(), ["exit 0\na.txt"]);
}

#[tokio::test]
async fn a_server_that_is_busy_or_away_is_called_again_with_the_same_key() {
    let busy = |code| Next::Answer(Box::new(failure(code, "wait")), Some(0));
    let overloaded = busy(ErrorCode::Overloaded);
    let tools =
        ToolServer::start([overloaded, busy(ErrorCode::InProgress), Next::Plain(StatusCode::BAD_GATEWAY)])
            .await;
    let (ended, _) = run(vec![calls(&[("ls", "{}")]), says("done")], &tools).await;
    assert_eq!(ended.reply(), "done");
    let keys: Vec<_> = tools.calls().iter().map(|call| call.headers["Idempotency-Key"].clone()).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|key| key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn a_tool_server_that_starts_late_is_waited_for() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let variables = [("AUTONOUS_TOOL_URL", url.as_str()), ("AUTONOUS_TOOL_TOKEN", TOKEN)];
    let mut worker = Worker::start(&variables);
    let task = task("ls");
    worker.send_task(&task).await;
    worker.until::<protocol::event::AgentStarted>().await;
    let tools = ToolServer::start_at(url.strip_prefix("http://").unwrap()).await;
    assert_eq!(worker.ended(&task).await.reply(), "exit 0\na.txt");
    assert_eq!(tools.calls().len(), 1);
}

#[tokio::test]
async fn a_wrong_token_fails_the_task_for_good_and_says_so() {
    let tools = ToolServer::start([]).await;
    let mut worker = Worker::start(&[("AUTONOUS_TOOL_URL", &tools.url), ("AUTONOUS_TOOL_TOKEN", "wrong")]);
    let ended = worker.run(&task("ls")).await;
    let (error, retryable) = failed(&ended);
    assert!(error.contains("the token is wrong") && error.contains("Authorization"), "{error}");
    assert!(!retryable);
    assert_eq!(ended.types(), ["agent.started", "agent.failed"]);
}

#[tokio::test]
async fn a_stranger_at_the_tool_servers_address_is_named() {
    let model = ModelServer::start([says("hi")]).await;
    let mut worker = Worker::start(&model.variables(&model.base_url));
    let ended = worker.run(&task("hi")).await;
    let (error, retryable) = failed(&ended);
    assert!(error.contains("check AUTONOUS_TOOL_URL") && !retryable, "{error}");
}

#[tokio::test]
async fn a_model_that_is_busy_for_a_moment_is_asked_again() {
    let tools = ToolServer::start([]).await;
    let replies = vec![refuses(429, "slow down"), refuses(503, "busy"), says("done")];
    let (ended, model) = run(replies, &tools).await;
    assert_eq!(ended.reply(), "done");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(ended.types().iter().filter(|kind| **kind == "turn.started").count(), 1);
}

#[tokio::test]
async fn a_model_that_stays_busy_fails_the_task_so_that_it_can_be_tried_later() {
    let tools = ToolServer::start([]).await;
    let (ended, model) = run(vec![calls(&[("ls", "{}")]), refuses(429, "slow down")], &tools).await;
    let (error, retryable) = failed(&ended);
    assert!(error.contains("accepts no more requests right now") && error.contains("slow down"), "{error}");
    assert!(error.contains("Done so far:\n- ls {}: exit 0"), "{error}");
    assert!(retryable);
    assert_eq!(model.requests().len(), 1 + 4);
    assert_eq!(ended.types().last(), Some(&"agent.failed"));
}

#[tokio::test]
async fn a_model_that_refuses_the_key_or_the_request_is_not_asked_again() {
    let tools = ToolServer::start([]).await;
    for (status, expected) in [(401, "AUTONOUS_MODEL_API_KEY"), (404, "AUTONOUS_MODEL_NAME")] {
        let (ended, model) = run(vec![refuses(status, "no")], &tools).await;
        let (error, retryable) = failed(&ended);
        assert!(error.contains(expected) && !retryable, "{error}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_next_task_knows_nothing_of_the_failed_one() {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start([refuses(401, "no"), says("hello")]).await;
    let mut worker = Worker::start(&model.variables(&tools.url));
    failed(&worker.run(&task("first")).await);
    assert_eq!(worker.run(&task("second")).await.reply(), "hello");
    let messages = soon(async { model.requests().pop() }).await.unwrap()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[1]["content"], "second");
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_left_alone_and_the_supervisor_is_told_for_how_long() {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start([refuses(503, "busy")]).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_CONTROL_MAX_RETRIES", "0"));
    let mut worker = Worker::start(&variables);
    for _ in 0..4 {
        let ended = worker.run(&task("hi")).await;
        assert!(matches!(ended.outcome, Outcome::Failed { retryable: true, retry_after_ms: None, .. }));
    }
    worker.run(&task("hi")).await;
    let ended = worker.run(&task("hi")).await;
    let Outcome::Failed { error, retryable: true, retry_after_ms: Some(wait) } = &ended.outcome else {
        panic!("{:?}", ended.outcome)
    };
    assert!((1..=30_000).contains(wait) && error.contains("is paused for"), "{wait} {error}");
    assert_eq!(model.requests().len(), 5);
}
