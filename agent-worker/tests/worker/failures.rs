//! What breaks on the way, and who gets to hear of it.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use harness::fake_tool_server::{TOKEN, failure};
use harness::worker::task;
use harness::{FakeToolServer, ModelReply, ToolReply, Worker};
use protocol::event::{AgentStarted, CircuitOpened, RetryExhausted, RetryScheduled};
use protocol::{ErrorCode, Outcome};

use crate::{calls, model, refuses, run, run_alone, says, started, tool_results, with, worker};

#[test]
fn a_call_that_cannot_be_answered_now_is_repeated_with_its_key_and_the_model_never_hears_of_it() {
    let busy = |code| ToolReply::Envelope(Box::new(failure(code, "wait")), Some(0));
    let (overloaded, in_progress) = (busy(ErrorCode::Overloaded), busy(ErrorCode::InProgress));
    for replies in [
        vec![ToolReply::Broken, ToolReply::Broken],
        vec![overloaded, in_progress, ToolReply::NoEnvelope(502)],
    ] {
        let failures = replies.len();
        let tools = FakeToolServer::start(replies);
        let (ended, model) = run(vec![calls(&[("ls", "{}")]), says("done")], &tools, &[]);
        assert_eq!(ended.reply(), "done");
        let keys: Vec<_> = tools.calls().iter().map(|call| call.headers["Idempotency-Key"].clone()).collect();
        assert_eq!(keys.len(), failures + 1);
        assert!(keys.iter().all(|key| key == keys[0]), "{keys:?}");
        assert_eq!(tool_results(&model), ["exit 0\na.txt"]);
    }
}

#[test]
fn a_tool_server_that_starts_late_is_waited_for() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let mut worker = Worker::start([("AUTONOUS_TOOL_URL", url.as_str()), ("AUTONOUS_TOOL_TOKEN", TOKEN)]);
    let task = task("ls");
    worker.send_task(&task);
    worker.wait_for::<AgentStarted>();
    let tools = FakeToolServer::start_at(address, []);
    assert_eq!(worker.wait_for_result(&task).reply(), "exit 0\na.txt");
    assert_eq!(tools.calls().len(), 1);
}

#[test]
fn a_wrong_token_fails_the_task_for_good_and_says_so() {
    let tools = FakeToolServer::start([]);
    let ended = Worker::start(with(&tools, &[("AUTONOUS_TOOL_TOKEN", "FAKE-wrong")])).run(&task("ls"));
    let (error, retryable) = ended.failure();
    assert!(error.contains("the token is wrong") && error.contains("Authorization"), "{error}");
    assert!(!retryable);
    assert_eq!(ended.types(), ["agent.started", "agent.failed"]);
}

#[test]
fn a_stranger_at_the_tool_servers_address_is_named() {
    let model = model([says("hi")]);
    let tools = FakeToolServer::start([]);
    let ended = worker(&model, &tools, &[("AUTONOUS_TOOL_URL", &model.base_url())]).run(&task("hi"));
    let (error, retryable) = ended.failure();
    assert!(error.contains("check AUTONOUS_TOOL_URL") && !retryable, "{error}");
}

#[test]
fn a_model_that_is_busy_for_a_moment_is_asked_again() {
    let replies = vec![ModelReply::RateLimited(1), refuses(503, "busy"), says("done")];
    let start = Instant::now();
    let (ended, model) = run_alone(replies, &[]);
    assert_eq!(ended.reply(), "done");
    assert!(start.elapsed() >= Duration::from_secs(1), "Retry-After is respected");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(ended.types().iter().filter(|kind| **kind == "turn.started").count(), 1);
}

#[test]
fn a_model_that_stays_busy_fails_the_task_so_that_it_can_be_tried_later() {
    let (ended, model) = run_alone(vec![calls(&[("ls", "{}")]), refuses(429, "slow down")], &[]);
    let (error, retryable) = ended.failure();
    assert!(error.contains("accepts no more requests right now") && error.contains("slow down"), "{error}");
    assert!(error.contains("Done so far:\n- ls {}: exit 0"), "{error}");
    assert!(retryable && matches!(ended.outcome, Outcome::Failed { retry_after_ms: None, .. }));
    assert_eq!(model.requests().len(), 1 + 4);
    let retries = ended.events_of();
    let [.., (_, RetryScheduled::Request { failed, wait_ms: 0 })] = &retries[..] else {
        panic!("{retries:?}")
    };
    assert_eq!((retries.len(), failed.failed_requests), (3, 3));
    let (_, RetryExhausted::Request(failed)) = ended.events_of()[0] else { panic!("{:?}", ended.events) };
    assert_eq!(failed.error_class, "rate_limit");
    assert_eq!(ended.types().last(), Some(&"agent.failed"));
}

#[test]
fn a_model_that_refuses_the_key_or_the_request_is_not_asked_again() {
    for (status, expected) in [(401, "AUTONOUS_MODEL_API_KEY"), (404, "AUTONOUS_MODEL_NAME")] {
        let (ended, model) = run_alone(vec![refuses(status, "no")], &[]);
        let (error, retryable) = ended.failure();
        assert!(error.contains(expected) && !retryable, "{error}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[test]
fn the_next_task_knows_nothing_of_the_failed_one() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) = started([refuses(401, "no"), says("hello")], &tools, &[]);
    worker.run(&task("first")).failure();
    assert_eq!(worker.run(&task("second")).reply(), "hello");
    let messages = model.requests().pop().unwrap()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[1]["content"], "second");
}

#[test]
fn a_provider_that_keeps_failing_is_left_alone_and_the_supervisor_is_told_for_how_long() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) =
        started([refuses(503, "busy")], &tools, &[("AUTONOUS_CONTROL_MAX_RETRIES", "9")]);
    let first = worker.run(&task("hi"));
    assert!(
        first.failure().0.contains("it failed 5 times in a row and is paused for"),
        "{:?}",
        first.outcome
    );
    assert_eq!(first.events_of::<CircuitOpened>()[0].1.error_class, "overloaded");
    let retries = first.events_of::<RetryScheduled>().len();
    assert_eq!(retries, 4, "no retry is announced that does not happen");
    let ended = worker.run(&task("hi"));
    let Outcome::Failed { error, retryable: true, retry_after_ms: Some(wait), .. } = &ended.outcome else {
        panic!("{:?}", ended.outcome)
    };
    assert!((1..=30_000).contains(wait) && error.contains("is paused for"), "{wait} {error}");
    assert_eq!(model.requests().len(), 5);
}
