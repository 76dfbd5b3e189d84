//! The start: which settings are refused, and which variables leave the environment.

use harness::Worker;
use harness::worker::command;

use crate::{config_dir, output_of};

fn refused(variables: &[(&str, &str)]) -> String {
    let (code, stdout, stderr) = output_of(&mut command(variables.iter().copied()));
    assert_eq!((code, stdout.as_str()), (Some(i32::from(process::exit::BAD_SETTINGS)), ""));
    stderr
}

#[test]
fn settings_that_do_not_fit_stop_the_start_and_are_named() {
    let (_dir, config) = config_dir("[[model]]\nname = \"m\"\nprovidr = \"openai\"\n");
    for (variables, expected) in [
        (vec![("AUTONOUS_CONFIG_DIR", config.as_str())], "models.toml, line 3: unknown field `providr`"),
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
