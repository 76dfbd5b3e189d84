//! `tool-server run`, and a server that finds its data directory by itself: what somebody does first.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::program::refusal_of;
use harness::wait::{SOON, within};
use harness::{Program, Request, TestDir, binaries, http};
use serde_json::{Value, json};

/// A directory for states whose name a shell would cut in pieces.
const STATES: &str = "the user's states";

/// Starts it and waits until it listens.
fn started(dir: &TestDir, command: &mut Command) -> Program {
    let server = Program::spawn(dir, command, None);
    server.until_logged("listening on http://");
    server
}

/// What it printed, up to the line for the shell.
fn greeting(server: &Program) -> String {
    let printed = || Some(server.stdout()).filter(|text| text.ends_with("}'\n"));
    within(SOON, printed).unwrap_or_else(|| panic!("it printed nothing: {}", server.log()))
}

fn program(dir: &TestDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(binaries::path_of("tool-server"));
    command.args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(dir.path());
    command.env("XDG_STATE_HOME", dir.path().join(STATES)).env("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0");
    command
}

/// `tool-server run` for the root.
fn run(dir: &TestDir) -> Command {
    program(dir, &["run", "--root", "root", "--listen", "127.0.0.1:0"])
}

fn refused(command: &mut Command) -> String {
    refusal_of(&command.stdin(Stdio::null()).output().unwrap())
}

/// The answer to the line that was printed, as somebody pastes it.
fn pasted(greeting: &str, token: Option<&str>) -> Value {
    let line = greeting.lines().find(|line| line.starts_with("curl ")).expect("there is a line");
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env_remove("http_proxy").envs(token.map(|token| ("AUTONOUS_TOOL_TOKEN", token)));
    let output = shell.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {line}: {output:?}"))
}

/// The only file of this name below the directory for states.
fn kept(dir: &TestDir, name: &str) -> PathBuf {
    let servers = fs::read_dir(dir.path().join(STATES).join("autonous/tools")).unwrap().flatten();
    let found: Vec<PathBuf> = servers.map(|server| server.path().join(name)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn the_line_that_is_printed_works_when_pasted_and_the_token_outlives_the_server() {
    let dir = TestDir::new();
    fs::write(dir.root().join("a.txt"), "one\n").unwrap();
    fs::create_dir(dir.path().join("second")).unwrap();
    let server = started(&dir, run(&dir).args(["--root", "second"]));
    let shown = greeting(&server);
    let answer = pasted(&shown, None);
    assert_eq!((&answer["ok"], &answer["stdout"]), (&json!(true), &json!("a.txt\n")), "{shown}");
    let file = kept(&dir, "token");
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(shown.contains(&file.display().to_string()) && shown.contains("second"), "{shown}");
    assert!(!shown.contains(&token) && !server.log().contains(&token));
    let (_, rest) = shown.split_once("http://").unwrap();
    let address = http::address_of(&format!("http://{}", rest.split_once(' ').unwrap().0));
    assert_eq!(Request::call("ls", &json!({"path": "."})).send(address).status, 401);
    let call = |tool: &str, arguments: &Value| {
        Request::call(tool, arguments).bearer(&token).send(address).envelope()
    };
    assert!(!call("read", &json!({"path": file})).ok, "no tool reads the token");
    let seen = call("bash", &json!({"cmd": format!("cat \"{}\"", file.display())}));
    assert!(!seen.ok && !seen.stdout.contains(&token), "no command does: {seen:?}");
    server.end(&dir);
    let server = started(&dir, run(&dir).args(["--root", "second"]));
    assert_eq!(pasted(&greeting(&server), None)["ok"], true);
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    let second = refused(run(&dir).args(["--root", "second"]));
    assert!(second.contains("journal"), "{second}");
    server.end(&dir);
}

#[test]
fn a_token_of_the_settings_goes_before_the_kept_one() {
    let dir = TestDir::new();
    let server = started(&dir, run(&dir).env("AUTONOUS_TOOL_TOKEN", "FAKE-own-token"));
    assert_eq!(pasted(&greeting(&server), Some("FAKE-own-token"))["ok"], true);
    server.end(&dir);
    let file = dir.path().join("own token");
    fs::write(&file, "FAKE-token-in-file\n").unwrap();
    let server = started(&dir, run(&dir).env("AUTONOUS_TOOL_TOKEN_FILE", &file));
    assert_eq!(pasted(&greeting(&server), None)["ok"], true);
    server.end(&dir);
    assert!(!kept(&dir, "token").exists());
}

#[test]
fn a_token_that_others_can_read_or_that_is_none_stops_the_start() {
    let dir = TestDir::new();
    started(&dir, &mut run(&dir)).end(&dir);
    let file = kept(&dir, "token");
    let check = |spoil: &dyn Fn(&Path), expected: &str| {
        spoil(&file);
        let said = refused(&mut run(&dir));
        assert!(said.contains(expected) && said.contains(&file.display().to_string()), "{said}");
    };
    check(&|file| fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap(), "chmod 600");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    check(&|file| fs::write(file, "").unwrap(), "remove the file");
    check(&|file| fs::write(file, [0xff; 40]).unwrap(), "cannot use the token");
    let elsewhere = dir.path().join("elsewhere");
    check(
        &|file| {
            fs::rename(file, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, file).unwrap();
        },
        "cannot use the token",
    );
}

#[test]
fn the_data_of_a_server_that_starts_in_its_root_are_elsewhere() {
    let dir = TestDir::new();
    let in_root = |arguments: &[&str]| {
        let mut command = program(&dir, arguments);
        command.current_dir(dir.root()).env("AUTONOUS_TOOL_ALLOWED_ROOTS", dir.root());
        command
    };
    started(&dir, &mut in_root(&[])).end(&dir);
    assert!(kept(&dir, "journal/tool-calls.jsonl").exists());
    assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 0, "nothing of it is in the root");
    started(&dir, &mut in_root(&["run"])).end(&dir);
    assert!(kept(&dir, "token").exists(), "both ways to start it have one directory");
    let inside = refused(in_root(&[]).env("AUTONOUS_DATA_DIR", dir.root().join("data")));
    assert!(inside.contains("AUTONOUS_DATA_DIR"), "{inside}");
    let homeless = refused(in_root(&[]).env_remove("XDG_STATE_HOME"));
    assert!(homeless.contains("AUTONOUS_DATA_DIR"), "{homeless}");
    let whole_home = refused(program(&dir, &["run", "--root", "."]).env("HOME", dir.path()));
    assert!(whole_home.contains("AUTONOUS_DATA_DIR"), "{whole_home}");
    assert!(refused(&mut program(&dir, &["run"])).contains("tool-server run --root DIR"));
    let nowhere = refused(program(&dir, &["run", "--root", "root", "--listen", "here"]).stdin(Stdio::null()));
    assert!(nowhere.contains("--listen") && nowhere.contains("127.0.0.1:8701"), "{nowhere}");
}

/// The address of a socket has at most 107 bytes: the self-check has one in the directory for states.
#[test]
fn commands_run_however_long_the_path_of_the_directory_for_states_is() {
    let dir = TestDir::new();
    let states = dir.path().join("a-directory-for-states/".repeat(8));
    let server = started(&dir, run(&dir).env("XDG_STATE_HOME", states));
    let line = greeting(&server).lines().find(|line| line.starts_with("curl ")).unwrap().to_owned();
    let line = line.replace("/tools/ls", "/tools/bash").replace(r#"{"path":"."}"#, r#"{"cmd":"echo ran"}"#);
    let ran = pasted(&line, None);
    assert_eq!((&ran["ok"], &ran["stdout"]), (&json!(true), &json!("ran\n")), "{ran}");
    server.end(&dir);
}
