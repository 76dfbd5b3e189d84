//! A tool server on another machine: everything that works with one of the supervisor's own works with it,
//! over TLS and with nothing but connections of the supervisor.

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::fake_telegram::update::ADA;
use harness::system::SystemBuilder;
use harness::tool_server::{APPROVER, ToolServerBuilder};
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, ToolServer, binaries, signals, wait};
use protocol::event::JournalTampered;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::audit::asked;
use crate::health::wait_for_detail;
use crate::{ASKS_ABOUT_WRITE, assert_says, printed, records, until_sent};

const TOKEN: &str = "FAKE-token-of-elsewhere";

fn tls(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls").join(name).display().to_string()
}

/// A tool server with its own directories, as on a machine of its own.
fn machine() -> ToolServerBuilder {
    let server = ToolServer::builder().token(TOKEN).approver().variable("AUTONOUS_TOOL_SUPERVISED", "true");
    let root = server.dir().root();
    let state = server.dir().path().join("state");
    fs::create_dir(&state).unwrap();
    server.roots(&[root, state])
}

fn with_tls(server: ToolServerBuilder) -> ToolServerBuilder {
    server
        .variable("AUTONOUS_TOOL_TLS_CERT", &tls("server.pem"))
        .variable("AUTONOUS_TOOL_TLS_KEY", &tls("server.key"))
        .variable("AUTONOUS_TOOL_TLS_CLIENT_CA", &tls("ca.pem"))
}

/// A system whose tool server is there.
fn system(server: &ToolServer, scheme: &str) -> SystemBuilder {
    let roots = [server.root(), server.dir().path().join("state")].map(|root| root.display().to_string());
    System::builder()
        .variable("AUTONOUS_TOOL_URL", &format!("{scheme}://{}", server.address()))
        .variable("AUTONOUS_TOOL_TOKEN", TOKEN)
        .variable("AUTONOUS_TOOL_APPROVER_TOKEN", APPROVER)
        .variable("AUTONOUS_TOOL_ALLOWED_ROOTS", &roots.join(","))
}

fn over_tls(server: &ToolServer) -> SystemBuilder {
    system(server, "https")
        .variable("AUTONOUS_TOOL_TLS_CA", &tls("ca.pem"))
        .variable("AUTONOUS_TOOL_TLS_CLIENT_CERT", &tls("client.pem"))
        .variable("AUTONOUS_TOOL_TLS_CLIENT_KEY", &tls("client.key"))
}

/// Waits until the copy is the journal, byte for byte.
fn until_copied(system: &System, server: &ToolServer) {
    let [there, here] = [server.dir().journal(), system.dir().journal()];
    wait::until_true("the journal is copied", || {
        fs::read(&there).unwrap() == fs::read(&here).unwrap_or_default()
    });
}

#[test]
fn a_task_works_there_over_tls_and_its_calls_are_events_and_a_copy_here() {
    let server = with_tls(machine()).start();
    let large = "x".repeat(70_000);
    let model = FakeModel::answering(vec![
        ModelReply::call("write", &json!({"path": "a.txt", "content": "one\n"})),
        ModelReply::call("write", &json!({"path": "large.txt", "content": large})),
        ModelReply::call("bash", &json!({"cmd": "cat a.txt; pwd"})),
        ModelReply::Text("done".to_owned()),
    ]);
    let system = over_tls(&server).model(&model).start();
    let task = system.run_task("write two files");
    assert_eq!(fs::read_to_string(server.root().join("a.txt")).unwrap(), "one\n");
    assert!(fs::read_dir(system.workspace()).unwrap().next().is_none(), "nothing happens on this machine");
    // The end of a task has all of its calls.
    let counts = ["tool_call.started", "tool_call.completed"].map(|kind| system.database().events_of(kind));
    assert_eq!(counts, [3, 3]);
    until_copied(&system, &server);
    // Large arguments come with their records.
    let named =
        "select payload ->> 'arguments_file' from events where payload ->> 'arguments_file' is not null";
    let name = &system.database().texts(named)[0];
    let kept = system.dir().journal().with_file_name("arguments").join(name);
    assert!(fs::read_to_string(kept).unwrap().contains(&large));
    let part = system.part("tool_server");
    assert_eq!(part["state"], "ok", "{part}");
    assert_says(part["detail"].as_str().unwrap(), &["https://127.0.0.1:"]);
    assert_eq!(system.part("commands")["state"], "ok");
    // What a command printed is read from there.
    let printed = system.tool("bash", &json!({"cmd": "seq 1 30000"}));
    let path = format!("/journal/outputs/{}.txt", printed.meta.call_id);
    let whole = system.ask_as_approver(Request::get(&path));
    assert_eq!((whole.status, whole.text().lines().count()), (200, 30_000));
    let gone = ["../journal/tool-calls.jsonl", "%2e%2e", "none.txt"];
    assert!(gone.iter().all(|name| {
        system.ask_as_approver(Request::get(&format!("/journal/outputs/{name}"))).status == 404
    }));
    // No tool server is among the children.
    assert!(system.children().iter().all(|child| child.is("agent-worker")), "{:?}", system.children());
    // Undoing goes there, too.
    let undone: Value = system.shown_json(&["undo", &task, "--json"]);
    assert_eq!(undone["undone"].as_array().unwrap().len(), 2, "{undone}");
    assert!(!server.root().join("a.txt").exists());
    // Callers on this machine use the port that they know.
    assert!(system.tool("ls", &json!({"path": "."})).ok);
}

#[test]
fn a_very_certificate_is_trusted_and_no_other_one() {
    let server = machine()
        .variable("AUTONOUS_TOOL_TLS_CERT", &tls("stranger.pem"))
        .variable("AUTONOUS_TOOL_TLS_KEY", &tls("stranger.key"))
        .start();
    let pinned = system(&server, "https").variable("AUTONOUS_TOOL_TLS_CA", &tls("stranger.pem")).start();
    assert!(pinned.tool("ls", &json!({"path": "."})).ok);
    drop(pinned);
    let other = system(&server, "https").variable("AUTONOUS_TOOL_TLS_CA", &tls("ca.pem")).start_unready();
    wait_for_detail(&other, "tool_server", "invalid peer certificate");
    assert_eq!(other.part("tool_server")["state"], "failed");
}

#[test]
fn files_schedules_and_questions_of_tools_come_over_the_connection_of_the_supervisor() {
    let server = with_tls(machine()).start();
    let telegram = FakeTelegram::start();
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    fs::write(server.root().join("report.bin"), &bytes).unwrap();
    fs::write(server.root().join("b.txt"), "b\n").unwrap();
    let model = FakeModel::answering(vec![
        ModelReply::call("telegram_react", &json!({"emoji": "👍"})),
        ModelReply::call("telegram_send_file", &json!({"path": "report.bin", "caption": "for you"})),
        ModelReply::call("telegram_send_file", &json!({"path": "b.txt", "more_paths": ["report.bin"]})),
        ModelReply::call("schedule_task", &json!({"text": "say hello", "at": "2099-01-01T08:00:00Z"})),
        ModelReply::Text("done".to_owned()),
    ]);
    let system = over_tls(&server).telegram(&telegram, "4711").model(&model).start();
    telegram.push(ADA.text("send it"));
    let sent = telegram.wait_for_sent(5);
    let methods: Vec<&str> = sent.iter().map(|sent| sent.method.as_str()).collect();
    assert!(methods.contains(&"setmessagereaction") && methods.contains(&"senddocument"), "{methods:?}");
    let files: Vec<&[u8]> =
        sent.iter().filter_map(|sent| sent.file.as_ref()).map(|(_, bytes)| &bytes[..]).collect();
    assert!(files.iter().filter(|file| **file == bytes).count() == 2, "{} files", files.len());
    assert_eq!(system.database().count("select count(*) from schedules"), 1);
    assert_eq!(system.database().events_of("tool_call.failed"), 0);
    // What comes in goes there.
    telegram.add_file("list", b"1,2\n".to_vec());
    telegram.push(ADA.document("list", "list.csv", "text/csv", 4));
    let inbox = server.dir().path().join("state/inbox/telegram-4711");
    let arrived = || fs::read_dir(&inbox).ok()?.flatten().find(|one| one.path().extension().is_some());
    let file = wait::until("the file arrives", arrived);
    assert_eq!(fs::read(file.path()).unwrap(), b"1,2\n");
}

#[test]
fn a_person_decides_about_a_call_there() {
    let server = with_tls(machine().policy(ASKS_ABOUT_WRITE)).start();
    let telegram = FakeTelegram::start();
    let model = FakeModel::answering(vec![
        ModelReply::call("write", &json!({"path": "a.txt", "content": "one\n"})),
        ModelReply::Text("written".to_owned()),
    ]);
    let builder = over_tls(&server).telegram(&telegram, "4711").model(&model);
    let system = builder.policy(ASKS_ABOUT_WRITE).start();
    system.until_logged("hold nowhere");
    telegram.push(ADA.text("write"));
    let id = asked(&system);
    assert!(!server.root().join("a.txt").exists());
    system.shown(&["approve", &id]);
    wait::until_true("the call runs", || server.root().join("a.txt").exists());
    until_sent(&telegram, "the reply comes", |sent| sent.text.contains("written"));
}

#[test]
fn a_server_that_is_killed_and_one_that_is_paused_lose_nothing_and_double_nothing() {
    let mut server = machine().start();
    let mut system = system(&server, "http").start();
    system.run_task("write {\"path\": \"a.txt\", \"content\": \"one\\n\"}");
    // A call that runs when it is killed.
    let task = system.say("bash {\"cmd\": \"touch began; sleep 600\"}");
    wait::until_true("the command runs", || server.root().join("began").exists());
    server.crash_in_place(|_| ());
    system.reply(&task);
    wait::until_true("the call has an end", || {
        system.database().count("select count(*) from tool_calls where status = 'running'") == 0
    });
    // While it stands still, a call waits, and health says so.
    let pid = server.program().pid();
    signals::send(pid, Signal::STOP);
    wait::until_true("health says so", || system.part("tool_server")["state"] == "failed");
    signals::send(pid, Signal::CONT);
    wait::until_true("health says so", || system.part("tool_server")["state"] == "ok");
    // The supervisor is killed, and goes on where it was.
    system.kill();
    assert!(server.call("ls", &json!({"path": "."})).ok, "it outlives its supervisor");
    system.restart();
    system.run_task("ls {\"path\": \".\"}");
    until_copied(&system, &server);
    let doubled = "select count(*) from (select id from events group by id having count(*) > 1) as doubled";
    assert_eq!(system.database().count(doubled), 0);
    let records: Vec<Value> = records(system.dir());
    let started = records.iter().filter(|record| record["type"] == "tool_call.started").count();
    assert_eq!(system.database().events_of("tool_call.started"), started);
    assert_eq!(system.database().events_of("journal.tampered"), 0);
}

#[test]
fn a_journal_that_does_not_go_on_there_is_found_and_what_was_copied_stays() {
    let mut server = machine().start();
    let system = system(&server, "http").start();
    for _ in 0..3 {
        system.run_task("ls {\"path\": \".\"}");
    }
    until_copied(&system, &server);
    let journal = system.dir().journal();
    let before = fs::read(&journal).unwrap();
    server.crash_in_place(|dir| {
        let text = fs::read_to_string(dir.journal()).unwrap();
        let fewer: Vec<&str> = text.lines().take(4).collect();
        fs::write(dir.journal(), fewer.join("\n") + "\n").unwrap();
    });
    wait::until_true("it is found", || system.database().events_of("journal.tampered") == 1);
    let found: Vec<JournalTampered> = system.database().payloads();
    assert_eq!(found[0].missing_records, 2, "{found:?}");
    let mut journals = fs::read_dir(journal.parent().unwrap()).unwrap().flatten();
    let aside = journals.find(|one| one.file_name().to_string_lossy().starts_with("replaced-"));
    let kept = fs::read(aside.expect("the copy was moved aside").path().join("tool-calls.jsonl")).unwrap();
    assert_eq!(kept, before);
    assert_eq!(system.part("journal")["state"], "failed");
    // Work goes on.
    system.run_task("ls {\"path\": \".\"}");
    until_copied(&system, &server);
}

#[test]
fn a_tool_server_that_takes_no_supervisor_is_said_to_and_its_tools_of_chats_are_not_there() {
    let server = ToolServer::builder().token(TOKEN).approver().start();
    let telegram = FakeTelegram::start();
    let system = system(&server, "http").telegram(&telegram, "4711").start();
    wait_for_detail(&system, "tool_server", "AUTONOUS_TOOL_SUPERVISED=true");
    let refused = system.tool_as("telegram:4711", "telegram_react", &json!({"emoji": "👍", "message_id": 7}));
    assert!(!refused.ok, "{refused:?}");
}

#[test]
fn settings_that_do_not_fit_are_refused_by_name() {
    let url = ("AUTONOUS_TOOL_URL", "https://tools.example:8701");
    let (token, approver) = (("AUTONOUS_TOOL_TOKEN", TOKEN), ("AUTONOUS_TOOL_APPROVER_TOKEN", APPROVER));
    let (roots, ca) = (("AUTONOUS_TOOL_ALLOWED_ROOTS", "/w"), tls("ca.pem"));
    let ca = ("AUTONOUS_TOOL_TLS_CA", ca.as_str());
    let check = |variables: &[(&str, &str)], named: [&str; 2]| {
        let error = System::builder().variables(variables).start_refused().stderr;
        assert_says(&error, &named);
        assert!(!error.contains(TOKEN), "{error}");
    };
    check(&[ca], ["AUTONOUS_TOOL_TLS_CA", "AUTONOUS_TOOL_URL as well"]);
    check(&[url, token, roots, ca], ["AUTONOUS_TOOL_URL", "AUTONOUS_TOOL_APPROVER_TOKEN"]);
    check(&[url, token, approver, ca], ["AUTONOUS_TOOL_URL", "AUTONOUS_TOOL_ALLOWED_ROOTS"]);
    check(&[url, token, approver, roots], ["AUTONOUS_TOOL_URL", "AUTONOUS_TOOL_TLS_CA"]);
    let in_the_clear = ("AUTONOUS_TOOL_URL", "http://tools.example:8701");
    check(&[in_the_clear, token, approver, roots], ["AUTONOUS_TOOL_URL", "in the clear"]);
    for (name, value, named) in [
        ("AUTONOUS_TOOL_URL", "https://tools.example/tools", "host and port alone"),
        ("AUTONOUS_TOOL_TLS_CLIENT_CERT", "/c.pem", "AUTONOUS_TOOL_TLS_CLIENT_KEY as well"),
        ("AUTONOUS_TOOL_BASH_NETWORK", "all", "where that tool server is started"),
        ("AUTONOUS_TOOL_TLS_CERT", "/c.pem", "where that tool server is started"),
        ("AUTONOUS_TOOL_APPROVER_TOKEN", TOKEN, "another token"),
    ] {
        check(&[url, token, approver, roots, ca, (name, value)], [name, named]);
    }
    let missing = ("AUTONOUS_TOOL_TLS_CA", "/missing.pem");
    check(&[url, token, approver, roots, missing], ["AUTONOUS_TOOL_URL", "missing.pem"]);
    let alone = ToolServer::builder().token(TOKEN).variable("AUTONOUS_TOOL_SUPERVISED", "true");
    assert_says(&alone.start_refused().stderr, &["AUTONOUS_TOOL_SUPERVISED"]);
}

/// The page shows what stands in the table of settings.
#[test]
fn the_settings_of_the_page_are_known() {
    let page = fs::read_to_string(harness::project_copy::workspace().join("docs/elsewhere.md")).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shown.toml");
    fs::write(&file, text).unwrap();
    let mut supervisor = Command::new(binaries::path_of("supervisor"));
    supervisor.env_clear().env("PATH", "/usr/bin:/bin").env("AUTONOUS_DATA_DIR", directory.path());
    let judged = supervisor.args(["config", "check"]).arg(&file).output().unwrap();
    assert!(judged.status.success(), "{}", printed(&judged));
}
