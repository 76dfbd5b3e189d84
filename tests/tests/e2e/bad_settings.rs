//! A setting that a child cannot work with stops the whole system at once, and is named.

use std::fs;

use harness::{System, ToolServer};

/// The start must fail soon, and the log must contain each of `words`.
fn check(variable: &str, value: &str, words: &[&str]) {
    let refusal = System::builder().variable(variable, value).start_refused();
    assert_eq!(refusal.status.code(), Some(78), "{variable}: {}", refusal.stderr);
    for word in words {
        assert!(refusal.stderr.contains(word), "{variable}: does not say {word}:\n{}", refusal.stderr);
    }
    let starts = refusal.stderr.matches("restarting it").count();
    assert_eq!(starts, 0, "{variable}: it was tried again:\n{}", refusal.stderr);
}

#[test]
fn a_setting_that_a_child_refuses_stops_the_supervisor() {
    let (worker, tools) = ("invalid settings for the agent-worker", "invalid settings for the tool-server");
    check("AUTONOUS_MODEL_PROVIDER", "oracle", &["AUTONOUS_MODEL_PROVIDER", "oracle", worker]);
    check("AUTONOUS_TOOL_TIMEOUT_SECONDS", "soon", &["AUTONOUS_TOOL_TIMEOUT_SECONDS", tools]);
    check("AUTONOUS_TOOL_ALLOWED_ROOTS", "/nowhere/at/all", &["/nowhere/at/all", tools]);
    check("AUTONOUS_TOOL_READONLY_ROOTS", "/nowhere", &["AUTONOUS_TOOL_READONLY_ROOTS", "/nowhere", tools]);
    for name in ["1=x", "A-B=x", "=x", "AUTONOUS_TOOL_TOKEN"] {
        check("AUTONOUS_TOOL_ENV", name, &["AUTONOUS_TOOL_ENV", name, tools]);
    }
    let long = format!("A={}", "x".repeat(120_000));
    check("AUTONOUS_TOOL_ENV", &long, &["AUTONOUS_TOOL_ENV", "A=…", tools]);
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
