//! The start: which settings are refused, and which variables leave the environment.

use harness::Worker;
use harness::worker::command;

fn refused(variables: &[(&str, &str)]) -> String {
    let output = command(variables.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(process::exit::BAD_SETTINGS)));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn settings_that_do_not_fit_stop_the_start_and_are_named() {
    for (variables, expected) in [
        (vec![("AUTONOUS_MODEL_PROVIDER", "oracle")], "expected one of direct, scripted, anthropic"),
        (vec![("AUTONOUS_MODEL_FALLBACK", "small")], "only model servers have a second model"),
        (vec![("AUTONOUS_CONFIG_DIR", "/does/not/exist")], "expected a directory that exists"),
        (
            vec![("AUTONOUS_MODEL_PROVIDER", "scripted"), ("AUTONOUS_MODEL_SCRIPT", "ok,dance")],
            "AUTONOUS_MODEL_SCRIPT=\"dance\": expected actions",
        ),
        (vec![("AUTONOUS_TOOL_URL", "localhost")], "AUTONOUS_TOOL_URL=\"localhost\""),
        (vec![("AUTONOUS_LOG_FORMAT", "xml")], "AUTONOUS_LOG_FORMAT"),
        (vec![("AUTONOUS_MODEL_NAME", "x")], "because the provider direct does not use it"),
        (vec![("AUTONOUS_MODEL_NAM", "x")], "Did you mean AUTONOUS_MODEL_NAME?"),
        (vec![("OPENAI_API_KEY_FILE", "/nowhere")], "OPENAI_API_KEY_FILE=\"/nowhere\": expected a text file"),
    ] {
        let stderr = refused(&variables);
        assert!(stderr.contains(expected), "{variables:?}: {stderr}");
    }
}

#[test]
fn secrets_leave_the_environment_at_the_start() {
    let secrets = [
        ("AUTONOUS_TOOL_TOKEN", "hidden-1"),
        ("AUTONOUS_MODEL_API_KEY", "hidden-2"),
        ("OPENAI_API_KEY", "hidden-3"),
        ("ANTHROPIC_API_KEY", "hidden-4"),
        ("RUST_LOG", "warn"),
    ];
    let mut worker = Worker::start(secrets);
    worker.next_line();
    if let Some(environment) = harness::environment(worker.pid()) {
        assert!(environment.contains("RUST_LOG=warn") && !environment.contains("hidden"), "{environment}");
    }
}
