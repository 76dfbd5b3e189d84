//! `tool-server check` on a machine without any settings, and in tier B.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// An ordinary user that no machine gives to a person.
const STRANGER: u32 = 61_234;

#[test]
fn check_needs_no_settings_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_tool-server"));
    let output = check_in(directory.path(), program).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("Attempts of the self-check"), "{stdout}{stderr}");
    let own =
        "[ok] own confinement: a process that is confined like the server, but has no directories, cannot";
    let own = stdout.lines().find(|line| line.contains(own)).unwrap_or_else(|| panic!("{stdout}"));
    for attempt in [
        "start a program",
        "make a socket for UDP",
        "make a unix socket",
        "be looked into by processes of its user",
        "gain privileges by executing a program",
    ] {
        assert!(own.contains(attempt), "{attempt}: {own}");
    }
    for held in [
        "holds       leave a git setting that starts a program: taken back when the command ended",
        "holds       leave an executable git hook: taken back when the command ended",
        "holds       leave such a setting in a directory closed to the server: taken back when the command \
            ended",
        "holds       leave such a setting below a path longer than a mount takes: taken back",
        "holds       leave an index from which git writes a hook: taken back when the command ended",
        "holds       replace a program that a git setting names: read-only, or taken back",
        "holds       take more memory than a command may have: killed",
        "holds       take more memory than a command may have in semaphores: killed",
        "holds       take more memory than a command may have in the buffers of sockets: killed",
        "holds       take more memory than a command may have in tables of pages: killed",
    ] {
        assert!(stdout.contains(held), "{held}: {stdout}{stderr}");
    }
    if stdout.contains("sandbox tier A") {
        let held =
            "holds       read a denied name, also after its directory was renamed: hidden from commands";
        assert!(stdout.contains(held), "{stdout}{stderr}");
    }
    assert!(stderr.contains("AUTONOUS_TOOL_ALLOWED_ROOTS is not set"), "{stderr}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{stdout}{stderr}");
}

/// Tier B hides nothing from commands, which shows that the attempt succeeds without the guard.
#[test]
fn what_tier_b_does_not_hide_is_a_stated_loss() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("tool-server");
    fs::copy(env!("CARGO_BIN_EXE_tool-server"), &program).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let attempt = "read a denied name, also after its directory was renamed";
    for (denied, expected) in [
        ("*.pem", "tier B hides it from the file tools alone"),
        ("", "AUTONOUS_TOOL_DENY_PATHS has no plain name to try"),
    ] {
        let scratch = directory.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        let stdout = check_in_tier_b(&program, &scratch, denied);
        let line = format!("stated loss {attempt}: {expected}");
        assert!(stdout.contains(&line), "{line}: {stdout}");
        assert!(stdout.contains("holds       leave an executable git hook"), "{stdout}");
        for taken in ["in semaphores", "in the buffers of sockets", "in tables of pages"] {
            let held = format!("holds       take more memory than a command may have {taken}: ");
            assert!(stdout.contains(&held), "{taken}: {stdout}");
        }
        fs::remove_dir(&scratch).unwrap();
    }
}

/// The check without roots, with this directory for all that it makes.
fn check_in(directory: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("check").env_remove("AUTONOUS_TOOL_ALLOWED_ROOTS");
    command.env("TMPDIR", directory).current_dir(directory);
    command
}

fn check_in_tier_b(program: &Path, scratch: &Path, denied: &str) -> String {
    let mut command = check_in(scratch, program);
    command.env("AUTONOUS_TOOL_SANDBOX", "landlock").env("AUTONOUS_TOOL_DENY_PATHS", denied);
    if rustix::process::geteuid().is_root() {
        chown(scratch, Some(STRANGER), Some(STRANGER)).unwrap();
        command.uid(STRANGER).gid(STRANGER);
    }
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout.into_owned()
}
