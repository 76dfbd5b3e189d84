//! `supervisor check`: what works, what does not and what to do, as text and as JSON.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use harness::{FakeModel, FakeTelegram, System};
use serde_json::Value;

use crate::assert_says;
use crate::health::wait_for_detail;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn findings(output: &Output) -> Vec<Value> {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("--json prints an array: {output:?}"))
}

/// What a finding has in this field.
fn field_of(findings: &[Value], name: &str, field: &str) -> String {
    let found = findings.iter().find(|finding| finding["name"] == name);
    found.and_then(|finding| finding[field].as_str()).unwrap_or("missing").to_owned()
}

fn verdict(findings: &[Value], name: &str) -> String {
    field_of(findings, name, "verdict")
}

/// The verdict about one part and its reason.
pub(crate) fn finding(output: &Output, name: &str) -> (String, String) {
    let found = findings(output);
    (verdict(&found, name), field_of(&found, name, "what"))
}

#[test]
fn a_fresh_system_passes_whether_it_runs_or_not() {
    let system = System::builder();
    // The harness created this directory; the supervisor creates private ones.
    fs::set_permissions(system.dir().data(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut system = system.start();
    let running = system.run_command(&["check"]);
    let said = text(&running);
    assert!(running.status.success(), "{said}");
    assert!(said.contains("running at http://127.0.0.1:"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    system.stop();
    let stopped = system.run_command(&["check", "--json"]);
    let found = findings(&stopped);
    for name in ["data directory", "supervisor", "database", "settings", "programs", "Telegram", "model"] {
        assert_eq!(verdict(&found, name), "ok", "{name}: {found:#?}");
    }
    for name in ["sandbox", "confinement"] {
        assert!(["ok", "warn"].contains(&verdict(&found, name).as_str()), "{found:#?}");
    }
    assert!(field_of(&found, "disk", "what").ends_with("MiB free"), "{found:#?}");
}

#[test]
fn telegram_and_the_model_are_checked_without_showing_a_token() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::answering(Vec::new());
    let system = System::builder().telegram(&telegram, "7").model(&model).start();
    let good = system.run_set_up(&["check", "--json"]);
    let found = findings(&good);
    assert_eq!(verdict(&found, "Telegram"), "ok", "{found:#?}");
    assert_eq!(verdict(&found, "model"), "ok", "{found:#?}");
    assert!(model.requests().is_empty(), "the check must not use the model: {:?}", model.requests());
    let said = format!("{found:?}{}", String::from_utf8_lossy(&good.stderr));
    for secret in [harness::fake_telegram::TOKEN, harness::fake_model::KEY] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn a_failed_check_says_what_to_do() {
    let mut system = System::builder()
        .variable("AUTONOUS_MODEL_PROVIDER", "openai")
        .variable("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
        .telegram_at("http://127.0.0.1:1", "7")
        .start();
    system.stop();
    fs::set_permissions(system.dir().data(), fs::Permissions::from_mode(0o755)).unwrap();
    let bad = system.run_set_up(&["check", "--json"]);
    let found = findings(&bad);
    assert!(!bad.status.success(), "{found:#?}");
    for (name, expected) in [("data directory", "warn"), ("Telegram", "fail"), ("model", "fail")] {
        assert_eq!(verdict(&found, name), expected, "{name}: {found:#?}");
    }
    for finding in found.iter().filter(|finding| finding["verdict"] != "ok") {
        assert!(finding["remedy"].is_string(), "{finding}");
    }
    let words = text(&system.run_set_up(&["check"]));
    assert_says(&words, &["FAIL  Telegram", "chmod 700"]);
    assert!(words.lines().all(|line| line.chars().count() <= 80), "{words}");
}

#[test]
fn beside_a_service_that_was_started_with_other_settings_it_says_what_the_service_has() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::answering(Vec::new());
    let system = System::builder().telegram(&telegram, "7").model(&model).workers(2).start();
    wait_for_detail(&system, "telegram", "answers as");
    let found = findings(&system.run_command(&["check", "--json"]));
    let what = |name: &str| field_of(&found, name, "what");
    assert_says(&what("supervisor"), &["what follows is what it sees"]);
    let others = ["others than this shell", "AUTONOUS_WORKERS=2", "AUTONOUS_TELEGRAM_ALLOWED_CHATS=7"];
    assert_says(&what("settings"), &others);
    assert_eq!(what("workers"), "2 of 2 ready");
    assert_says(&what("Telegram"), &["answers as @", "1 chats allowed"]);
    assert_says(&what("model"), &[harness::fake_model::NAME]);
    assert_says(&what("sandbox"), &["tier"]);
    for line in ["tasks at once", "tools reach these directories", "receiving from Telegram", "tier"] {
        system.until_logged(line);
    }
}

#[test]
fn a_service_that_does_not_answer_is_a_finding() {
    let system = System::start();
    harness::signals::stop(system.supervisor_pid());
    let output = system.run_command(&["check", "--json"]);
    harness::signals::send(system.supervisor_pid(), rustix::process::Signal::CONT);
    assert!(!output.status.success());
    assert_eq!(verdict(&findings(&output), "service"), "fail", "{output:?}");
}
