//! The Debian package and the archive: the scripts of `package/`, the units, and what the programs print for
//! them. `make test-package` installs the package on a Debian whose systemd runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use harness::binaries::path_of;
use harness::program::{refusal_of, stdout_of};
use harness::project_copy::workspace;

/// The programs with a command line, and what packages call them.
const NAMES: [(&str, &str); 2] = [("supervisor", "autonous"), ("tool-server", "tool-server")];

fn is_there(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

fn said(program: &str, arguments: &[&str]) -> String {
    stdout_of(&Command::new(path_of(program)).args(arguments).output().unwrap())
}

pub(crate) fn write_executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn each_shell_takes_the_completions_of_each_program() {
    let dir = tempfile::tempdir().unwrap();
    for (program, name) in NAMES {
        for (shell, option) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
            let script = said(program, &["completions", "--name", name, shell]);
            assert!(script.contains(name) && script.contains("check"), "{program}, {shell}: {script}");
            if is_there(shell) {
                let file = dir.path().join(shell);
                fs::write(&file, script).unwrap();
                let read = Command::new(shell).arg(option).arg(&file).output().unwrap();
                assert!(read.status.success(), "{program}, {shell}: {read:?}");
            }
        }
    }
}

#[test]
fn bash_completes_a_command_and_its_option() {
    let script = said("supervisor", &["completions", "--name", "autonous", "bash"]);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script"), script).unwrap();
    let ask = "source ./script; COMP_WORDS=(autonous \"$@\"); COMP_CWORD=$#; \
               _autonous autonous \"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[@]}\"";
    for (words, expected) in [(&["sched"][..], "schedules\n"), (&["tasks", "--sin"], "--since\n")] {
        let output =
            Command::new("bash").args(["-c", ask, "bash"]).args(words).current_dir(&dir).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{words:?}: {output:?}");
    }
}

#[test]
fn each_command_that_is_shown_has_a_man_page() {
    for (program, name) in NAMES {
        let dir = tempfile::tempdir().unwrap();
        said(program, &["man", "--name", name, dir.path().to_str().unwrap()]);
        let help = said(program, &["--help"]);
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let commands = commands.take_while(|line| !line.is_empty());
        let begins =
            commands.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
        let names = begins.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        let mut pages: Vec<String> = names.map(|command| format!("{name}-{command}.1")).collect();
        assert!(pages.len() > 5, "{help}");
        pages.push(format!("{name}.1"));
        for page in pages {
            let text =
                fs::read_to_string(dir.path().join(&page)).unwrap_or_else(|error| panic!("{page}: {error}"));
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
        }
        assert!(!dir.path().join(format!("{name}-man.1")).exists(), "hidden commands have none");
        if is_there("mandoc") {
            let found =
                Command::new("sh").arg("-c").arg("mandoc -T lint -W error *.1").current_dir(&dir).output();
            let found = found.unwrap();
            assert!(found.status.success(), "{found:?}");
        }
    }
}

#[test]
fn completions_need_no_settings_that_hold() {
    let mut command = Command::new(path_of("supervisor"));
    command
        .args(["completions", "fish"])
        .env("AUTONOUS_WORKERS", "many")
        .env("AUTONOUS_DATA_DIR", "/missing");
    assert!(command.output().unwrap().status.success());
}

fn unit(name: &str) -> String {
    fs::read_to_string(workspace().join("package/systemd").join(name)).unwrap()
}

#[test]
fn the_units_wait_for_tasks_and_leave_the_sandbox_what_it_is_built_of() {
    for name in ["autonous.service", "autonous-tool-server.service"] {
        let unit = unit(name);
        let has = |line: &str| unit.lines().any(|have| have == line);
        // 20 s more than the default of AUTONOUS_STOP_SECONDS.
        for line in ["KillMode=mixed", "TimeoutStopSec=30", "User=autonous", "RestartPreventExitStatus=78"] {
            assert!(has(line), "{name} lacks {line}");
        }
        for breaking in [
            "RestrictSUIDSGID=", "ProtectHostname=", "ProtectKernelTunables=", "ProtectKernelLogs=",
            "ProtectProc=", "ProcSubset=", "PrivateUsers=", "MemoryDenyWriteExecute=",
        ] {
            let is_set = unit.lines().any(|line| line.starts_with(breaking));
            assert!(!is_set, "{name} sets {breaking}, which the sandbox or its commands do not survive");
        }
    }
}

/// Runs the wrapper where `id`, `setpriv` and `systemctl` are these stubs, and systemd seems to run; what it
/// would have executed is printed.
fn wrapped(user: &str, uid: u32, arguments: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let id = format!("#!/bin/sh\ncase $1 in -un) echo {user} ;; *) echo {uid} ;; esac\n");
    write_executable(&bin.join("id"), &id);
    for name in ["setpriv", "chown", "systemctl"] {
        write_executable(&bin.join(name), &format!("#!/bin/sh\necho {name} \"$@\"\n"));
    }
    let supervisor = dir.path().join("supervisor");
    write_executable(&supervisor, "#!/bin/sh\necho $AUTONOUS_CONFIG_DIR $AUTONOUS_DATA_DIR \"$@\"\n");
    let text = fs::read_to_string(workspace().join("package/autonous")).unwrap();
    let text = text.replace("/usr/lib/autonous/supervisor", supervisor.to_str().unwrap());
    let text = text.replace("/run/systemd/system", dir.path().to_str().unwrap());
    let script = dir.path().join("autonous");
    write_executable(&script, &text);
    let mut command = Command::new("/bin/sh");
    command.arg(&script).args(arguments).env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut output = command.output().unwrap();
    let printed =
        String::from_utf8(output.stdout).unwrap().replace(supervisor.to_str().unwrap(), "SUPERVISOR");
    output.stdout = printed.into_bytes();
    output
}

#[test]
fn the_installed_command_runs_as_the_user_of_the_service() {
    let printed = |user: &str, uid: u32, arguments: &[&str]| stdout_of(&wrapped(user, uid, arguments));
    let as_user = "setpriv --reuid autonous --regid autonous --init-groups -- SUPERVISOR";
    assert_eq!(printed("root", 0, &["chat", "ls path=."]), format!("{as_user} chat ls path=.\n"));
    assert_eq!(printed("autonous", 997, &["tasks"]), "/etc/autonous /var/lib/autonous tasks\n");
    // It writes its settings where the service cannot add a file at other times.
    let [before, after] = ["autonous", "root"].map(|owner| format!("chown {owner} /etc/autonous\n"));
    assert_eq!(printed("root", 0, &["setup"]), format!("{before}{as_user} setup\n{after}"));
    // Root starts the service: the program has no right to.
    let enabled = "systemctl --quiet enable autonous.service\nsystemctl restart autonous.service\n";
    let started = format!(
        "{before}{as_user} setup --service-follows --yes\n{after}{enabled}\
         The service runs, now and after each boot.\n"
    );
    assert_eq!(printed("root", 0, &["setup", "--service", "--yes"]), started);
    for anybody in [&["--version"][..], &["tasks", "--help"]] {
        assert!(printed("ada", 1000, anybody).starts_with("/etc/autonous"), "{anybody:?}");
    }
    let refused = wrapped("ada", 1000, &["tasks"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(refusal_of(&refused).contains("sudo"), "{refused:?}");
}

#[test]
fn two_packages_of_the_same_programs_are_equal() {
    if !["dpkg-deb", "strip", "git", "gzip", "sha256sum"].into_iter().all(is_there) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let built = dir.path().join("built");
    fs::create_dir(&built).unwrap();
    for program in ["supervisor", "agent-worker", "tool-server"] {
        fs::copy("/bin/true", built.join(program)).unwrap();
    }
    let package = |name: &str| {
        let dist = dir.path().join(name);
        let mut command = Command::new("sh");
        command.arg(workspace().join("package/build.sh")).env("BUILT", &built).env("DIST", &dist);
        command.env("NATIVE", path_of("supervisor").parent().unwrap()).env("SBOM", "no");
        command.env("SOURCE_DATE_EPOCH", "1767225600");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(dist.join("SHA256SUMS")).unwrap()
    };
    let sums = package("one");
    assert!(sums.contains(".deb") && sums.contains(".tar.gz"), "{sums}");
    assert_eq!(sums, package("two"));
}
