//! A setting that a child cannot work with stops the whole system at once, and is named.

use harness::System;

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
}
