//! A setting that a child cannot work with stops the whole system at once, and is named.

use std::fs;

use harness::{FakeModel, ModelReply, System, ToolServer, fake_model};

use crate::assert_says;

/// The start must fail soon, and the log must contain each of `words`.
fn check(variable: &str, value: &str, words: &[&str]) {
    let refusal = System::builder().variable(variable, value).start_refused();
    assert_eq!(refusal.status.code(), Some(78), "{variable}: {}", refusal.stderr);
    assert_says(&refusal.stderr, words);
    assert!(!refusal.stderr.contains("restarting it"), "{variable}: it was tried again:\n{}", refusal.stderr);
}

#[test]
fn a_setting_that_a_child_refuses_stops_the_supervisor() {
    let (worker, tools) = ("invalid settings for the agent-worker", "invalid settings for the tool-server");
    check("AUTONOUS_MODEL_PROVIDER", "oracle", &["AUTONOUS_MODEL_PROVIDER", "oracle", "direct, scripted"]);
    check("AUTONOUS_MODEL_TOOL_PROTOCOL", "xml", &["AUTONOUS_MODEL_TOOL_PROTOCOL", "xml", worker]);
    check("AUTONOUS_TOOL_TIMEOUT_SECONDS", "soon", &["AUTONOUS_TOOL_TIMEOUT_SECONDS", tools]);
    check("AUTONOUS_TOOL_ALLOWED_ROOTS", "/nowhere/at/all", &["/nowhere/at/all", tools]);
    let roots = "AUTONOUS_TOOL_ALLOWED_ROOTS";
    check(roots, "~/project", &[roots, "`~` is not expanded"]);
    check("AUTONOUS_TOOL_READONLY_ROOTS", "/nowhere", &["AUTONOUS_TOOL_READONLY_ROOTS", "/nowhere", tools]);
    check("AUTONOUS_TOOL_DISABLED", "delete,bsh", &["AUTONOUS_TOOL_DISABLED", "bsh", "run_script", tools]);
    check("AUTONOUS_TOOL_ALLOWED_HOSTS", "http://x", &["AUTONOUS_TOOL_ALLOWED_HOSTS", "host names", tools]);
    for name in ["1=x", "A-B=x", "=x", "AUTONOUS_TOOL_TOKEN"] {
        check("AUTONOUS_TOOL_ENV", name, &["AUTONOUS_TOOL_ENV", name, tools]);
    }
    let long = format!("A={}", "x".repeat(120_000));
    check("AUTONOUS_TOOL_ENV", &long, &["AUTONOUS_TOOL_ENV", "A=…", tools]);
}

#[test]
fn a_misspelt_variable_stops_the_start_of_the_supervisor_and_of_a_tool_server() {
    for (name, meant) in [
        ("AUTONOUS_MODEL_NAM", "AUTONOUS_MODEL_NAME"),
        ("AUTONOUS_TOOL_MAX_COMANDS", "AUTONOUS_TOOL_MAX_COMMANDS"),
        ("AUTONOUS_TELEGRAM_TOKN", "AUTONOUS_TELEGRAM_TOKEN"),
    ] {
        check(name, "1:hunter2", &[name, meant]);
        let refusal = ToolServer::builder().variable(name, "1:hunter2").start_refused();
        assert_eq!(refusal.status.code(), Some(78), "{}", refusal.stderr);
        assert_says(&refusal.stderr, &[&format!("Did you mean {meant}?")]);
        assert!(!refusal.stderr.contains("hunter2"), "{}", refusal.stderr);
    }
}

#[test]
fn a_secret_can_be_in_a_file_and_reaches_the_program_that_uses_it() {
    let model = FakeModel::answering(vec![ModelReply::Text("hello".to_owned())]);
    let mut builder = System::builder();
    for (name, value) in model.variables() {
        if name == "AUTONOUS_MODEL_API_KEY" {
            let file = builder.dir().path().join("key");
            fs::write(&file, format!("{value}\n")).unwrap();
            builder = builder.variable("AUTONOUS_MODEL_API_KEY_FILE", &file.display().to_string());
        } else {
            builder = builder.variable(name, &value);
        }
    }
    let system = builder.start();
    assert_eq!(system.reply(&system.say("hi")), "hello");
    assert_eq!(model.headers()[0]["authorization"], format!("Bearer {}", fake_model::KEY));
}

#[test]
fn a_secret_file_that_cannot_be_used_stops_the_start() {
    let missing = "/nowhere/token";
    check("AUTONOUS_CONTROL_TOKEN_FILE", missing, &["AUTONOUS_CONTROL_TOKEN_FILE", missing, "can be read"]);
    check("AUTONOUS_TELEGRAM_TOKEN_FILE", missing, &["AUTONOUS_TELEGRAM_TOKEN_FILE", missing]);
    let both = ToolServer::builder().variable("AUTONOUS_TOOL_TOKEN_FILE", missing).token("FAKE-token");
    let refusal = both.start_refused();
    assert_eq!(refusal.status.code(), Some(78), "{}", refusal.stderr);
    assert_says(&refusal.stderr, &["expected nothing, because AUTONOUS_TOOL_TOKEN is set"]);
}

/// A variable, a directory below that of the test, and the variable that the refusal names.
const OVERLAPS: [(&str, &str, &str); 6] = [
    ("AUTONOUS_SKILLS_DIR", "root/skills", "AUTONOUS_TOOL_ALLOWED_ROOTS"),
    ("AUTONOUS_SKILLS_DIR", "", "AUTONOUS_TOOL_ALLOWED_ROOTS"),
    ("AUTONOUS_SKILLS_DIR", "root", "AUTONOUS_TOOL_ALLOWED_ROOTS"),
    ("AUTONOUS_TOOL_OUTPUT_DIR", "", "AUTONOUS_TOOL_ALLOWED_ROOTS"),
    ("AUTONOUS_TOOL_READONLY_ROOTS", "data", "AUTONOUS_TOOL_READONLY_ROOTS"),
    ("AUTONOUS_TOOL_READONLY_ROOTS", "", "AUTONOUS_TOOL_READONLY_ROOTS"),
];

#[test]
fn no_directory_of_the_server_is_in_or_above_what_tools_and_commands_reach() {
    for (variable, directory, named) in OVERLAPS {
        let builder = ToolServer::builder();
        let directory = match (builder.dir().root(), directory) {
            (root, "root") => root,
            (root, "root/skills") => root.join("skills"),
            _ => builder.dir().path().join(directory),
        };
        fs::create_dir_all(&directory).unwrap();
        let refusal = builder.variable(variable, &directory.display().to_string()).start_refused();
        let what = format!("{variable}={}: {}", directory.display(), refusal.stderr);
        assert_eq!(refusal.status.code(), Some(78), "{what}");
        assert!(refusal.stderr.contains(named), "{what}");
    }
}
