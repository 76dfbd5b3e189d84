//! `setup.sh` on machines that lack programs: its `PATH` is a directory of stubs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use harness::project_copy::workspace;

use crate::packages::write_executable;

const RUN: [&str; 4] = ["cargo", "make", "cc", "bash"];
const TEST: [&str; 12] = [
    "cargo", "make", "cc", "bash", "git", "curl", "python3", "perl", "fdfind", "google-chrome", "ip", "less",
];

/// Records its name and arguments; `sudo` also runs them, and a package manager creates the program.
const STUB: &str = r#"#!/bin/sh
here=${0%/*} name=${0##*/}
echo "$name $*" >>"$here/../calls"
case "$name $*" in
    sudo*) shift && exec "$@" ;;
    *ripgrep*) : >"$here/rg" && /bin/chmod 755 "$here/rg" ;;
esac
"#;

/// Runs `setup.sh TARGET` as user `uid` where only `programs` exist; returns its output and the stubs' calls.
fn setup(target: &str, uid: u32, programs: &[&[&str]]) -> (Output, String) {
    setup_with(target, uid, programs, None)
}

/// The same with the programs of one more directory.
fn setup_with(target: &str, uid: u32, programs: &[&[&str]], more: Option<&Path>) -> (Output, String) {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["env", "true"] {
        symlink(Path::new("/usr/bin").join(name), bin.join(name)).unwrap();
    }
    for name in programs.concat() {
        write_executable(&bin.join(name), STUB);
    }
    write_executable(&bin.join("id"), &format!("#!/bin/sh\necho {uid}\n"));
    let mut command = Command::new("/bin/sh");
    let path = std::env::join_paths([Some(&*bin), more].into_iter().flatten()).unwrap();
    command.arg(workspace().join("setup.sh")).arg(target).env_clear().env("PATH", path);
    let output = command.output().unwrap();
    (output, fs::read_to_string(directory.path().join("calls")).unwrap_or_default())
}

#[test]
fn setup_says_nothing_when_nothing_is_missing() {
    for (target, programs) in [("run", &[&RUN[..]][..]), ("test", &[&TEST, &["rg"]])] {
        let (output, calls) = setup(target, 1000, programs);
        assert!(output.status.success(), "{output:?}");
        assert_eq!((output.stdout, output.stderr, calls), (vec![], vec![], String::new()));
    }
}

#[test]
fn setup_installs_what_is_missing_where_it_may() {
    let apt = "apt-get update\napt-get install -y --no-install-recommends ripgrep\n";
    let apt_by_sudo = "sudo -n true\n\
        sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update\n\
        apt-get update\n\
        sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ripgrep\n\
        apt-get install -y --no-install-recommends ripgrep\n";
    for (uid, system, expected) in [
        (0, &["apt-get"][..], apt),
        (1000, &["apt-get", "sudo"], apt_by_sudo),
        (0, &["dnf"], "dnf install -y ripgrep\n"),
        (0, &["pacman"], "pacman -Sy --needed --noconfirm ripgrep\n"),
        (0, &["apk"], "apk add ripgrep\n"),
    ] {
        let (output, calls) = setup("test", uid, &[&TEST, system]);
        assert!(output.status.success(), "{system:?}: {output:?}");
        assert_eq!(calls, expected, "{system:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("Installing what is missing: ") && said.contains(" ripgrep"), "{said}");
    }
}

#[test]
fn setup_prints_a_line_to_type_where_it_may_not_install() {
    let rustup =
        "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"$HOME/.cargo/env\"";
    let by_dnf = "Missing: rg. Type:\n    sudo dnf install -y ripgrep\n";
    let by_hand = "Missing: rg. Install these; this system has no apt-get, dnf, pacman or apk.\n";
    for (target, uid, programs, expected) in [
        ("test", 1000, &[&TEST[..], &["dnf"]][..], by_dnf.to_owned()),
        (
            "run",
            1000,
            &[&["make", "bash"], &["apt-get"]],
            format!(
                "Missing: cc curl. Type:\n    sudo apt-get update && \
                sudo apt-get install -y --no-install-recommends build-essential curl && {rustup}\n"
            ),
        ),
        ("run", 0, &[&RUN[1..], &["curl"]], format!("Missing: Rust. Type:\n    {rustup}\n")),
        ("test", 0, &[&TEST], by_hand.to_owned()),
    ] {
        let (output, calls) = setup(target, uid, programs);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        assert_eq!((output.stdout, calls), (vec![], String::new()));
    }
}

#[test]
fn setup_fails_if_a_program_is_still_missing_after_the_installation() {
    let (output, _) = setup("run", 0, &[&RUN[..3], &["apt-get"]]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "Still missing after the installation: bash. Install these programs by hand.\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn setup_names_a_compiler_that_is_too_old() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let wanted = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let (_, minor) = wanted.split_once('.').unwrap();
    let minor: u32 = minor.parse().unwrap();
    for (version, is_old) in [
        ("1.63.0".to_owned(), true),
        (format!("1.{}.1", minor - 1), true),
        (format!("1.{minor}.0"), false),
        (format!("1.{}.0-nightly", minor + 20), false),
        ("unknown".to_owned(), false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        write_executable(
            &directory.path().join("rustc"),
            &format!("#!/bin/sh\necho rustc {version} '(a b)'\n"),
        );
        let (output, _) = setup_with("run", 0, &[&RUN, &["curl"]], Some(directory.path()));
        assert_eq!(output.status.success(), !is_old, "{version}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = format!("Rust {version} is too old: this needs {wanted} or newer. Type:\n    curl ");
        assert!(if is_old { said.starts_with(&expected) } else { said.is_empty() }, "{version}: {said}");
    }
}
