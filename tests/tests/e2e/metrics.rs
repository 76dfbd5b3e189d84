//! `GET /metrics` of both ports: what is counted, who may read it, and that no label grows with what callers,
//! models and people write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use harness::project_copy::workspace;
use harness::system::direct_ls;
use harness::{Answer, FakeModel, ModelReply, Request, System, ToolServer, http, wait};
use protocol::hash::sha256;
use serde_json::{Value, json};

use crate::ASKS_ABOUT_WRITE;
use crate::docs::assert_generated;

/// Where docs/metrics.md has the generated tables.
const DOCUMENT: &str = "docs/metrics.md";
const END: &str = "<!-- end -->";

/// The series of an answer with their values, and what its metrics are.
struct Metrics {
    series: BTreeMap<String, f64>,
    /// By name: type and help.
    about: BTreeMap<String, (String, String)>,
}

impl Metrics {
    fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
        let (mut series, mut about) = (BTreeMap::new(), BTreeMap::<String, (String, String)>::new());
        for line in answer.text().lines() {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["#", "HELP", name, help] => about.entry(name.to_owned()).or_default().1 = help.to_owned(),
                ["#", "TYPE", name, kind] => about.entry(name.to_owned()).or_default().0 = kind.to_owned(),
                _ => {
                    let (name, value) = line.rsplit_once(' ').expect("a series has a value");
                    series.insert(name.to_owned(), value.parse().expect("a value is a number"));
                }
            }
        }
        Self { series, about }
    }

    fn assert_has(&self, expected: &[(&str, f64)]) {
        for (series, value) in expected {
            assert_eq!(self.series.get(*series), Some(value), "{series}: {:?}", self.series);
        }
    }

    fn value(&self, series: &str) -> f64 {
        self.series.get(series).copied().unwrap_or_default()
    }

    /// The names of the labels of a metric.
    fn labels(&self, name: &str) -> BTreeSet<&str> {
        let all = self.series.keys().filter_map(|series| series.strip_prefix(name)?.strip_prefix('{'));
        let pairs = all.flat_map(|labels| labels.trim_end_matches('}').split("\","));
        pairs.filter_map(|pair| Some(pair.split_once('=')?.0)).filter(|label| *label != "le").collect()
    }

    /// As docs/metrics.md has them.
    fn table(&self) -> String {
        let mut table = "| metric | labels | what it is |\n|---|---|---|\n".to_owned();
        for (name, (kind, help)) in &self.about {
            let series = if kind == "histogram" { format!("{name}_bucket") } else { name.clone() };
            let labels = self.labels(&series).into_iter().map(|label| format!("`{label}`"));
            let labels = labels.collect::<Vec<_>>().join(", ");
            table += &format!("| `{name}` ({kind}) | {labels} | {help} |\n");
        }
        table
    }
}

fn of_tool_server(server: &ToolServer) -> Metrics {
    Metrics::of(&server.send(Request::get("/metrics")))
}

fn of_system(system: &System) -> Metrics {
    Metrics::of(&system.control(Request::get("/metrics")))
}

/// A tool server after calls of each kind.
fn busy_tool_server() -> ToolServer {
    let server = ToolServer::builder().token("FAKE-token").start();
    let token = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");
    fs::write(server.root().join("b.txt"), format!("token = {token}\n")).unwrap();
    assert!(server.call("ls", &json!({"path": "."})).ok);
    assert!(server.call("bash", &json!({"cmd": "seq 9000"})).truncated_lines);
    assert!(server.call("read", &json!({"path": "b.txt"})).meta.redacted);
    assert!(!server.call("read", &json!({"path": "missing"})).ok);
    assert!(server.call("bash", &json!({"cmd": "true"})).ok);
    server
}

#[test]
fn the_tool_server_counts_its_calls_by_tool_outcome_and_code() {
    let server = busy_tool_server();
    for _ in 0..2 {
        let call = Request::call("bash", &json!({"cmd": "echo once"})).header("Idempotency-Key", "once");
        assert!(server.send(call).envelope().ok);
    }
    let is_alone = |metrics: &Metrics| metrics.value("autonous_open_connections") == 1.0;
    let metrics = wait::until("the other connections end", || Some(of_tool_server(&server)).filter(is_alone));
    metrics.assert_has(&[
        ("autonous_tool_calls_total{code=\"\",outcome=\"success\",tool=\"ls\"}", 1.0),
        ("autonous_tool_calls_total{code=\"\",outcome=\"partial\",tool=\"bash\"}", 1.0),
        ("autonous_tool_calls_total{code=\"NOT_FOUND\",outcome=\"error\",tool=\"read\"}", 1.0),
        ("autonous_tool_calls_total{code=\"\",outcome=\"success\",tool=\"bash\"}", 2.0),
        ("autonous_tool_calls_total{code=\"\",outcome=\"replayed\",tool=\"bash\"}", 1.0),
        ("autonous_tool_call_seconds_count{tool=\"bash\"}", 3.0),
        ("autonous_tool_cut_answers_total{tool=\"bash\"}", 1.0),
        ("autonous_tool_redacted_answers_total{tool=\"read\"}", 1.0),
        ("autonous_sandbox_start_seconds_count", 3.0),
        ("autonous_tool_slots_taken{kind=\"command\"}", 0.0),
        ("autonous_tool_slots{kind=\"file\"}", 32.0),
        ("autonous_health{part=\"journal\"}", 1.0),
        ("autonous_open_connections", 1.0),
        ("autonous_background_processes", 0.0),
    ]);
    assert!(metrics.value("autonous_tool_answer_bytes_total{tool=\"bash\"}") > 1000.0);
    let journal = fs::metadata(server.dir().journal()).unwrap().len();
    assert_eq!(metrics.value("autonous_journal_bytes"), journal as f64);
}

#[test]
fn what_is_in_use_shows_while_it_is() {
    let server = ToolServer::builder().policy(ASKS_ABOUT_WRITE).approver().start();
    let started = server.call("bash", &json!({"cmd": "sleep 60", "background": true}));
    assert!(started.ok, "{started:?}");
    assert!(!server.call("write", &json!({"path": "a", "content": "x"})).ok);
    let metrics = of_tool_server(&server);
    assert_eq!(metrics.value("autonous_background_processes"), 1.0);
    assert_eq!(metrics.value("autonous_approvals_waiting"), 1.0);
    let process = started.meta.data.get("process_id").cloned().unwrap_or_default();
    assert!(server.call("process_kill", &json!({"process_id": process})).ok);
    wait::until_true("it is gone", || of_tool_server(&server).value("autonous_background_processes") == 0.0);
}

#[test]
fn no_label_grows_with_what_callers_write() {
    let server = ToolServer::start();
    let before = of_tool_server(&server).series.len();
    let names = (0..300).map(|number| match number % 6 {
        0 => format!("tool-{number}"),
        1 => format!("ls%22%7D%20{number}"),
        2 => format!("read%0A{number}"),
        3 => "x".repeat(number + 1),
        4 => format!("%F0%9F%98%80{number}"),
        _ => format!("..%2F{number}"),
    });
    for name in names {
        let call = Request::post(&format!("/tools/{name}"), "{}").header("Content-Type", "application/json");
        let session = call.of_session(&format!("session-{}", name.len()));
        assert_ne!(server.send(session).status, 200);
        server.send(Request::get(&format!("/{name}?{name}")));
    }
    let metrics = of_tool_server(&server);
    let unknown = "autonous_tool_calls_total{code=\"UNKNOWN_TOOL\",outcome=\"error\",tool=\"unknown\"}";
    assert!(metrics.value(unknown) >= 250.0, "{:?}", metrics.series);
    let grown = metrics.series.len() - before;
    assert!(grown < 30, "{grown} series more: {:?}", metrics.series.keys());
    let text = format!("{:?}", metrics.series);
    assert!(!text.contains("tool-0") && !text.contains("session"), "{text}");
}

#[test]
fn the_metrics_need_the_token_of_their_port_unless_a_setting_opens_them() {
    let tokens = format!("[[token]]\nname = \"ci\"\nsha256 = \"{}\"\n", sha256(b"test"));
    let server = ToolServer::builder().token("FAKE-token");
    let file = format!("{}/tokens.toml", server.dir().write_config("tokens.toml", &tokens));
    let server = server.variable("AUTONOUS_TOOL_TOKENS_FILE", &file).approver().start();
    let asked = |token: &str| {
        let request = Request::get("/metrics").header("Authorization", &format!("Bearer {token}"));
        request.send(server.address()).status
    };
    assert_eq!((asked("FAKE-token"), asked("wrong"), asked("test")), (200, 401, 401));
    assert_eq!(asked(harness::tool_server::APPROVER), 401);
    assert_eq!(Request::get("/metrics").send(server.address()).status, 401);
    let foreign = Request::get("/metrics").without("Host").header("Host", "evil.example");
    assert_eq!(server.send(foreign).status, 403);
    let named = Request::get("/capabilities").header("Authorization", "Bearer test");
    assert_eq!(named.send(server.address()).status, 200, "the named token itself is good");

    for (open, status) in [("false", 401), ("true", 200)] {
        let system = System::builder().variable("AUTONOUS_METRICS_PUBLIC", open).start();
        for url in [system.tokens().control_url, system.tokens().tool_url] {
            let answer = Request::get("/metrics").send(http::address_of(&url));
            assert_eq!(answer.status, status, "{open} {url}");
        }
        let other = Request::get("/status").send(http::address_of(&system.tokens().control_url));
        assert_eq!(other.status, 401, "nothing else is opened");
    }
}

/// A system whose model has answered, failed for now and failed for good.
fn busy_system() -> System {
    let replies = vec![
        ModelReply::call("ls", &json!({"path": "."})),
        ModelReply::Text("Done.".to_owned()),
        ModelReply::Broken,
        ModelReply::Text("Done.".to_owned()),
        ModelReply::Refused(401, json!({"message": "no such key"})),
    ];
    let model = FakeModel::answering(replies);
    let system = System::builder().model(&model).variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1").start();
    for text in ["one", "two", "three"] {
        system.run_task(text);
    }
    system
}

#[test]
fn the_supervisor_counts_tasks_models_and_what_is_in_the_database() {
    let system = busy_system();
    let metrics = of_system(&system);
    metrics.assert_has(&[
        ("autonous_model_requests_total{outcome=\"success\",provider=\"openai\"}", 3.0),
        ("autonous_model_requests_total{outcome=\"retried\",provider=\"openai\"}", 1.0),
        ("autonous_model_requests_total{outcome=\"failed\",provider=\"openai\"}", 1.0),
        ("autonous_model_requests_total{outcome=\"failed\",provider=\"anthropic\"}", 0.0),
        ("autonous_model_request_seconds_count{provider=\"openai\"}", 3.0),
        ("autonous_tasks{state=\"dead\"}", 1.0),
        ("autonous_tasks{state=\"queued\"}", 0.0),
        ("autonous_tasks{state=\"waiting\"}", 0.0),
        ("autonous_task_oldest_age_seconds{state=\"queued\"}", 0.0),
        ("autonous_replies_waiting", 0.0),
        ("autonous_child_restarts_total{child=\"agent-worker\"}", 0.0),
        ("autonous_child_restarts_total{child=\"tool-server\"}", 0.0),
        ("autonous_ready", 1.0),
        ("autonous_health{part=\"database\"}", 1.0),
    ]);
    assert!(metrics.value("autonous_model_tokens_total{kind=\"output\"}") > 0.0);
    assert!(metrics.value("autonous_database_bytes") > 10_000.0);
    assert!(metrics.value("autonous_journal_bytes") > 100.0);
    assert!(!metrics.series.keys().any(|series| series.contains("local")), "a chat is no label");
}

#[test]
fn a_task_that_waits_shows_where_and_for_how_long() {
    let system = System::builder().policy(ASKS_ABOUT_WRITE).workers(1).start();
    let task = system.say("/write {\"path\": \"a\", \"content\": \"x\"}");
    let waiting = "autonous_tasks{state=\"waiting\"}";
    wait::until_true("it waits for a person", || of_system(&system).value(waiting) == 1.0);
    let metrics = of_system(&system);
    assert_eq!(metrics.value("autonous_tasks{state=\"queued\"}"), 0.0);
    assert!(metrics.value("autonous_task_oldest_age_seconds{state=\"waiting\"}") > 0.0);
    system.control(Request::post(&format!("/tasks/{task}/cancel"), ""));
    wait::until_true("it has ended", || of_system(&system).value(waiting) == 0.0);
}

#[test]
fn a_child_that_ends_is_counted() {
    let system = System::builder().workers(1).start();
    system.kill_child("agent-worker");
    let restarts = "autonous_child_restarts_total{child=\"agent-worker\"}";
    wait::until_true("its restart is counted", || of_system(&system).value(restarts) == 1.0);
    system.run_task(&direct_ls("."));
}

#[test]
fn without_the_database_nothing_old_is_told_of_tasks() {
    let system = System::start();
    assert!(of_system(&system).series.contains_key("autonous_tasks{state=\"queued\"}"));
    let file = system.dir().data().join("db/autonous.db");
    let kept = system.dir().data().join("db/kept.db");
    fs::rename(&file, &kept).unwrap();
    let health = "autonous_health{part=\"database\"}";
    wait::until_true("it has failed", || of_system(&system).value(health) == 0.0);
    let metrics = of_system(&system);
    assert!(!metrics.series.contains_key("autonous_tasks{state=\"queued\"}"), "{:?}", metrics.series);
    assert_eq!(metrics.value("autonous_ready"), 0.0);
    fs::rename(&kept, &file).unwrap();
}

/// The document with this text between the marks of a table.
fn with_table(document: &str, of: &str, table: &str) -> String {
    let mark = format!("<!-- metrics of the {of} -->\n");
    let (before, rest) = document.split_once(&mark).expect("the document has the table's mark");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    format!("{before}{mark}{table}{END}{after}")
}

/// With `UPDATE_DOCS=1`, writes the tables.
#[test]
fn the_document_has_each_metric_and_alerts_and_dashboard_have_no_other() {
    let (server, system) = (busy_tool_server(), busy_system());
    let telling = [("supervisor", of_system(&system)), ("tool server", of_tool_server(&server))];
    let mut document = fs::read_to_string(workspace().join(DOCUMENT)).unwrap();
    for (of, metrics) in &telling {
        document = with_table(&document, of, &metrics.table());
    }
    assert_generated(DOCUMENT, &document);

    let known: BTreeSet<&str> =
        telling.iter().flat_map(|(_, metrics)| metrics.about.keys().map(String::as_str)).collect();
    let (alerts, dashboard) = ["deploy/prometheus/alerts.yml", "deploy/grafana/autonous.json"]
        .map(|file| fs::read_to_string(workspace().join(file)).unwrap())
        .into();
    serde_json::from_str::<Value>(&dashboard).expect("the dashboard is JSON");
    for text in [&alerts, &dashboard] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("autonous_")) {
            let name = word.trim_end_matches("_bucket");
            assert!(known.contains(name), "no such metric: {word}");
        }
    }
    for alert in alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(document.contains(&format!("| `{alert}` | ")), "{DOCUMENT} says what to do about {alert}");
    }
}
