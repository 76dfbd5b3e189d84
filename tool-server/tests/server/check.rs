//! `tool-server check` on a machine without any settings.

use std::process::Command;

#[test]
fn check_needs_no_settings_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tool-server"))
        .arg("check")
        .env_remove("AUTONOUS_TOOL_ALLOWED_ROOTS")
        .env("TMPDIR", directory.path())
        .current_dir(directory.path())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("Attempts of the self-check"), "{stdout}{stderr}");
    assert!(stdout.contains("10 ways out of the server's own confinement are closed"), "{stdout}");
    for held in [
        "holds       leave a git setting that starts a program: taken back when the command ended",
        "holds       leave an executable git hook: taken back when the command ended",
    ] {
        assert!(stdout.contains(held), "{held}: {stdout}{stderr}");
    }
    assert!(stderr.contains("AUTONOUS_TOOL_ALLOWED_ROOTS is not set"), "{stderr}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{stdout}{stderr}");
}
