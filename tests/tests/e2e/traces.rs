//! Traces: a task as a collector sees it, and that no collector ever holds a task up.

use std::collections::BTreeSet;

use harness::fake_collector::{FakeCollector, attribute};
use harness::system::direct_ls;
use harness::{FakeModel, ModelReply, Request, System, SystemBuilder, wait};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const SECRET: &str = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");

fn sending_to(collector: &FakeCollector) -> SystemBuilder {
    System::builder().variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&String> = spans.iter().map(|span| &span.name).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// Waits for a whole task.
fn trace(collector: &FakeCollector) -> Vec<Span> {
    wait::until("the trace comes", || {
        Some(collector.spans()).filter(|spans| spans.iter().any(|span| span.name == "task"))
    })
}

/// A model that fails once, lists the root, writes a file that a person has to allow, and answers.
fn model() -> FakeModel {
    FakeModel::answering(vec![
        ModelReply::RateLimited(0),
        ModelReply::call("bash", &json!({"cmd": format!("echo {SECRET}; false")})),
        ModelReply::call("write", &json!({"path": "a", "content": "x"})),
        ModelReply::text("Done."),
    ])
}

const ASKS: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";

/// Gives the system a task and decides about its call.
fn run(system: &System) -> String {
    let message = Request::post_json("/messages", &json!({"text": "go"})).header("traceparent", CALLER);
    let task = system.control(message).json()["task_id"].as_str().unwrap().to_owned();
    system.decide(&system.pending_approval(), &json!({"decision": "grant"}));
    assert_eq!(system.reply(&task), "Done.");
    task
}

/// The key of the collector is neither logged nor in the environment.
fn assert_key_is_hidden(system: &System) {
    let environment = harness::environment(system.supervisor_pid()).unwrap_or_default();
    assert!(![system.log(), environment].concat().contains("FAKE-collector-key"));
}

#[test]
fn a_task_is_one_trace_with_its_requests_calls_and_approvals_below_the_trace_of_its_caller() {
    let (collector, model) = (FakeCollector::start(), model());
    let builder = sending_to(&collector)
        .model(&model)
        .policy(ASKS)
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20FAKE-collector-key")
        .variable("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=home")
        .variable("OTEL_SERVICE_NAME", "mine");
    let system = builder.start();
    let task = run(&system);
    let spans = trace(&collector);

    let traces: BTreeSet<_> = spans.iter().map(|span| span.trace_id.clone()).collect();
    assert_eq!(traces.len(), 1, "one trace");
    let root = named(&spans, "task");
    assert_eq!(root.trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(root.parent_span_id, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
    assert_eq!(attribute(root, "autonous.task.id"), Some(task));
    for span in spans.iter().filter(|span| span.name != "task") {
        assert_eq!(span.parent_span_id, root.span_id, "{}", span.name);
        let is_within = root.start_time_unix_nano <= span.start_time_unix_nano
            && span.start_time_unix_nano <= span.end_time_unix_nano
            && span.end_time_unix_nano <= root.end_time_unix_nano + 1_000_000;
        assert!(is_within, "{span:?} {root:?}");
    }
    let ids: BTreeSet<_> = spans.iter().map(|span| span.span_id.clone()).collect();
    assert_eq!(ids.len(), spans.len(), "each span has an ID of its own");

    assert_eq!(collector.resource("service.name").as_deref(), Some("mine"));
    assert_eq!(collector.resource("deployment.environment.name").as_deref(), Some("home"));
    assert_eq!(collector.headers()["authorization"], "Bearer FAKE-collector-key");
    assert_key_is_hidden(&system);
}

#[test]
fn spans_have_the_attributes_of_the_conventions_and_no_content_unasked() {
    let (collector, model) = (FakeCollector::start(), model());
    let system = sending_to(&collector).model(&model).policy(ASKS).start();
    run(&system);
    let spans = trace(&collector);
    let chats: Vec<_> = spans.iter().filter(|span| span.name.starts_with("chat ")).collect();
    assert_eq!(chats.len(), 3);
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "fake-1"),
    ] {
        assert_eq!(attribute(chats[0], name).as_deref(), Some(value));
    }
    assert!(attribute(chats[0], "gen_ai.usage.output_tokens").is_some());
    assert_eq!(chats[0].events[0].name, "request.failed", "the request that was repeated");

    let bash = named(&spans, "execute_tool bash");
    assert_eq!(attribute(bash, "gen_ai.tool.name").as_deref(), Some("bash"));
    let approval = named(&spans, "approval write");
    assert_eq!(attribute(approval, "autonous.approval.decision").as_deref(), Some("granted"));
    named(&spans, "execute_tool write");
    let text = format!("{spans:?}");
    assert!(!text.contains("gen_ai.tool.call.arguments") && !text.contains("echo"), "no content unasked");
    assert_key_is_hidden(&system);
}

#[test]
fn with_content_arguments_and_results_come_with_their_secrets_hidden() {
    let (collector, model) = (FakeCollector::start(), model());
    let builder = sending_to(&collector).model(&model).policy(ASKS);
    let system = builder.variable("AUTONOUS_TRACE_CONTENT", "true").start();
    run(&system);
    let spans = trace(&collector);
    let bash = named(&spans, "execute_tool bash");
    let arguments = attribute(bash, "gen_ai.tool.call.arguments").unwrap();
    let result = attribute(bash, "gen_ai.tool.call.result").unwrap();
    assert!(arguments.contains("echo") && result.contains("REDACTED"), "{arguments} {result}");
    assert!(!format!("{spans:?}").contains(SECRET));
}

#[test]
fn a_task_that_fails_is_a_failed_trace() {
    let collector = FakeCollector::start();
    let model = FakeModel::answering(vec![ModelReply::Broken]);
    let builder = sending_to(&collector).model(&model).variable("AUTONOUS_CONTROL_MAX_RETRIES", "0");
    let system = builder.variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1").start();
    system.run_task("hello");
    let spans = trace(&collector);
    assert_eq!(named(&spans, "task").status.as_ref().map(|status| status.code), Some(2));
    let chat = named(&spans, "chat fake-1");
    assert_eq!(chat.status.as_ref().map(|status| status.code), Some(2));
}

#[test]
fn a_call_outside_of_tasks_is_a_span_below_that_of_its_caller() {
    let collector = FakeCollector::start();
    let system = sending_to(&collector).start();
    let call = Request::call("read", &json!({"path": "/etc/shadow"})).header("traceparent", CALLER);
    system.ask_tool_server(call.of_session("me"));
    system.tool("ls", &json!({"path": "."}));
    let spans = wait::until("both spans come", || Some(collector.spans()).filter(|spans| spans.len() == 2));
    let refused = named(&spans, "execute_tool read");
    assert_eq!(refused.parent_span_id, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
    assert_eq!(refused.trace_id[..4], [0x0a, 0xf7, 0x65, 0x19]);
    assert_eq!(attribute(refused, "error.type"), Some("PATH_OUTSIDE_ROOTS".to_owned()));
    assert_eq!(attribute(refused, "gen_ai.conversation.id"), Some("me".to_owned()));
    let own = named(&spans, "execute_tool ls");
    assert!(own.parent_span_id.is_empty() && own.trace_id != refused.trace_id, "{own:?}");
}

#[test]
fn a_collector_that_is_away_or_full_loses_traces_and_no_task_and_says_so_once() {
    let gone = "http://127.0.0.1:9";
    let system = System::builder().variable("OTEL_EXPORTER_OTLP_ENDPOINT", gone).start();
    for _ in 0..3 {
        system.run_task(&direct_ls("."));
        wait::out(std::time::Duration::from_millis(1200));
    }
    assert_eq!(system.log().matches("takes no traces").count(), 1, "{}", system.log());

    let collector = FakeCollector::start();
    let system = sending_to(&collector).start();
    collector.refuse(true);
    system.run_task(&direct_ls("."));
    wait::until_true("it is said", || system.log().contains("takes no traces"));
    collector.refuse(false);
    let task = system.run_task(&direct_ls("."));
    let traced = attribute(named(&trace(&collector), "task"), "autonous.task.id");
    assert_eq!(traced, Some(task), "the other is lost");
    wait::until_true("it is said", || system.log().contains("takes traces again"));
}

#[test]
fn wrong_settings_of_traces_stop_the_start() {
    for (name, value, word) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "http"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "number"),
        ("OTEL_SDK_DISABLED", "perhaps", "true"),
    ] {
        let refused = System::builder().variable(name, value).start_refused();
        assert!(refused.stderr.contains(name) && refused.stderr.contains(word), "{name}: {}", refused.stderr);
    }
}
