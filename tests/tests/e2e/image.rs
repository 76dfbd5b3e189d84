//! The scripts behind `make image`, on machines with other engines: `PATH` is a directory of stubs.
//! `make image-test` tries the images themselves.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use harness::project_copy::workspace;
use harness::signals;
use harness::wait;
use rustix::process::Signal;
use tempfile::TempDir;

/// An engine that records what it is asked, and has every image.
const ENGINE: &str = "#!/bin/sh\nhere=${0%/*}\necho \"${0##*/} $*\" >>\"$here/../calls\"\n";
/// A client whose engine does not run.
const CLIENT: &str = "#!/bin/sh\nexit 1\n";
/// An engine whose build runs a step in a process of its own, which does not end.
const SLOW: &str =
    "#!/bin/sh\ncase $1 in build) /bin/sleep 300 & echo $! >\"${0%/*}/../pid\" && wait ;; esac\n";
/// An engine that reaches no registry and has no image.
const ALONE: &str = "#!/bin/sh\ncase $1 in info) ;; *) exit 1 ;; esac\n";

/// Runs a script of `image/` where only these engines exist; returns its output and the engines' calls.
fn run(script: &str, arguments: &[&str], engines: &[(&str, &str)]) -> (Output, String) {
    let (mut command, directory) = prepared(script, arguments, engines, "cgroup.procs");
    let output = command.output().unwrap();
    (output, fs::read_to_string(directory.path().join("calls")).unwrap_or_default())
}

/// What `engine.sh` says where the control groups are hybrid.
fn run_with_hybrid_groups(what: &str, engines: &[(&str, &str)]) -> Output {
    prepared("engine.sh", &[what], engines, "unified").0.output().unwrap()
}

/// A script that is ready to run, and the directory of its machine, whose control groups have this name.
fn prepared(script: &str, arguments: &[&str], engines: &[(&str, &str)], groups: &str) -> (Command, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("cgroup").join(groups)).unwrap();
    let bin = directory.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["dirname", "sed", "date", "sh", "setsid"] {
        symlink(Path::new("/usr/bin").join(name), bin.join(name)).unwrap();
    }
    for (name, text) in [&[("id", "#!/bin/sh\necho 1000\n")], engines].concat() {
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("/bin/sh");
    command.arg(workspace().join("image").join(script)).args(arguments).env_clear().env("PATH", &bin);
    command.env("CGROUPS", directory.path().join("cgroup"));
    (command, directory)
}

fn said(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap()
}

#[test]
fn the_first_engine_that_works_is_taken() {
    let all = [("docker", ENGINE), ("podman", ENGINE), ("buildah", ENGINE)];
    let only_a_client = [("docker", CLIENT), ("podman", ENGINE)];
    for (what, engines, expected) in [
        ("build", &all[..], "docker"),
        ("build", &only_a_client, "podman"),
        ("build", &all[2..], "buildah"),
        ("run", &all[1..], "podman"),
    ] {
        let (output, _) = run("engine.sh", &[what], engines);
        assert_eq!(said(&output.stdout).trim(), expected, "{output:?}");
    }
    for (what, engines) in [("build", &only_a_client[..1]), ("run", &all[2..])] {
        let (output, _) = run("engine.sh", &[what], engines);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output.stderr).starts_with("No container engine works here. Install one of: docker"));
    }
}

#[test]
fn an_engine_whose_runtime_refuses_hybrid_control_groups_gets_another_or_says_what_to_install() {
    let [docker, podman, buildah, runc] = ["docker", "podman", "buildah", "runc"].map(|name| (name, ENGINE));
    for (what, engines, expected) in [
        ("run", &[docker, podman][..], "docker"),
        ("run", &[podman, runc], "podman --runtime runc"),
        ("build", &[buildah, runc], "buildah"),
    ] {
        let output = run_with_hybrid_groups(what, engines);
        assert_eq!(said(&output.stdout).trim(), expected, "{output:?}");
    }
    let output = run_with_hybrid_groups("run", &[podman]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("apt-get install runc"), "{output:?}");
}

#[test]
fn each_target_is_built_under_its_name() {
    let build = "build --layers --format docker --target";
    for (engine, targets, expected) in [
        ("docker", &["autonous"][..], vec!["docker build --target autonous --tag autonous .".to_owned()]),
        (
            "buildah",
            &[],
            vec![
                format!("buildah {build} autonous --tag autonous ."),
                format!("buildah {build} full --tag autonous:full ."),
                format!("buildah {build} tool-server --tag autonous:tool-server ."),
            ],
        ),
    ] {
        let (output, calls) = run("build.sh", targets, &[(engine, ENGINE)]);
        assert!(output.status.success(), "{output:?}");
        let built: Vec<&str> = calls.lines().filter(|call| call.contains(" build ")).collect();
        assert_eq!(built, expected);
        for base in ["docker.io/library/rust:", "docker.io/library/debian:"] {
            assert!(calls.lines().any(|call| call.contains("inspect") && call.contains(base)), "{calls}");
        }
    }
}

#[test]
fn a_build_that_cannot_be_done_says_why() {
    let check = |arguments: &[&str], engine: &str, code: i32, error: &str| {
        let (output, calls) = run("build.sh", arguments, &[("podman", engine)]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(said(&output.stderr), error);
        assert!(!calls.contains(" build "), "{calls}");
    };
    check(&["fool"], ENGINE, 2, "Unknown target: fool. There are autonous, full and tool-server.\n");
    check(&[], ALONE, 1, "Making docker.io/library/rust:1.95-slim-bookworm needs root.\n");
}

#[test]
fn a_build_ends_with_the_script_that_began_it() {
    let (mut command, directory) = prepared("build.sh", &["autonous"], &[("podman", SLOW)], "cgroup.procs");
    let mut script = command.spawn().unwrap();
    let noted = || fs::read_to_string(directory.path().join("pid")).ok()?.trim().parse::<u32>().ok();
    let step = wait::within(wait::SOON, noted).expect("the build begins");
    signals::send(script.id(), Signal::TERM);
    assert_eq!(script.wait().unwrap().code(), Some(143));
    // What has ended has no line, also before init looks for it.
    let line = format!("/proc/{step}/cmdline");
    wait::until_true("the step has ended", || fs::read(&line).unwrap_or_default().is_empty());
}

#[test]
fn the_image_is_built_with_the_compiler_that_the_checks_run_with() {
    let read = |name: &str| fs::read_to_string(workspace().join(name)).unwrap();
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.split("channel = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let (release, _) = channel.rsplit_once('.').unwrap();
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains(&format!("/rust:{release}-slim-")), "rust-toolchain.toml has {channel}");
}

/// Each setting can be in these; what reads them is one table.
#[test]
fn compose_passes_on_every_variable_of_a_file_and_a_configuration_directory() {
    let text = fs::read_to_string(workspace().join("compose.yaml")).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.trim().split(" #").next().unwrap().trim()).collect();
    for expected in [
        ["env_file:", "- path: .env", "required: false"].as_slice(),
        &["environment:", "AUTONOUS_CONFIG_DIR: /config"],
        &["- ./config:/config:ro"],
    ] {
        assert!(lines.windows(expected.len()).any(|part| part == expected), "{expected:?}: {text}");
    }
    let ignored = fs::read_to_string(workspace().join(".gitignore")).unwrap();
    assert!(["/config", "/.env"].iter().all(|name| ignored.lines().any(|line| line == *name)), "{ignored}");
}
