//! Denied names stay hidden from commands, in a root of any size and whatever moves meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::Request;
use harness::swapping::while_swapping;
use harness::tool_server::ToolServer;
use protocol::ErrorCode;
use serde_json::json;

use crate::commands::bash;

pub(crate) const SECRET: &str = "KEEP-THIS-HIDDEN";

/// A server whose root has these files, each with the secret.
fn server_with(secrets: &[&str]) -> ToolServer {
    let builder = ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full");
    write_secrets(&builder.dir().root(), secrets);
    builder.start()
}

fn write_secrets(root: &Path, secrets: &[&str]) {
    for path in secrets {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, SECRET).unwrap();
    }
}

/// A command that must see nothing of the secret.
fn assert_hidden(server: &ToolServer, cmd: &str) {
    let ran = bash(server, cmd);
    assert!(ran.meta.data["sandbox_tier"] == "A", "{cmd}: {ran:?}");
    assert!(!ran.stdout.contains(SECRET), "{cmd}: {ran:?}");
}

/// How many of these calls ran; none may see the secret, and those that did not run may be tried again.
fn count_hidden(server: &ToolServer, calls: usize, cmd: &str) -> usize {
    let mut ran = 0;
    for number in 0..calls {
        // Three failures in a row would pause the tool for their session.
        let request = Request::call("bash", &json!({"cmd": cmd, "timeout_seconds": 20}));
        let answer = server.send(request.of_session(&format!("call-{number}"))).envelope();
        assert!(!answer.stdout.contains(SECRET), "{answer:?}");
        match answer.meta.error {
            None => ran += 1,
            Some(error) => {
                assert_eq!((error.code, error.retryable), (ErrorCode::SandboxFailed, true), "{error:?}");
            }
        }
    }
    ran
}

#[test]
fn denied_names_are_hidden_in_any_case_and_place() {
    let secrets =
        [".ENV", "a/Server.KEY", "a/.docker/config.json", ".config/gh/hosts.yml", ".git/objects/id_ecdsa"];
    let server = server_with(&secrets);
    for path in secrets {
        assert_hidden(&server, &format!("cat {path} 2>&1; true"));
    }
}

#[test]
fn another_command_that_moves_the_directory_does_not_unhide_what_is_in_it() {
    let server = server_with(&["d/.env"]);
    let over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                bash(&server, "for i in {1..150}; do mv d e; mv e d; done 2>/dev/null; true");
            }
        });
        // Joined before it is judged: a failure would leave the other command running for ever.
        let calls = scope.spawn(|| count_hidden(&server, 60, "cat d/.env e/.env 2>/dev/null || true")).join();
        over.store(true, Ordering::Relaxed);
        calls
    });
    assert!(ran.unwrap() > 30, "commands should run meanwhile");
    assert!(server.root().join("d/.env").exists() || server.root().join("e/.env").exists());
}

#[test]
fn directories_that_change_places_all_the_time_hide_it_or_stop_the_command() {
    let server = server_with(&["d/.env"]);
    let (d, e) = (server.root().join("d"), server.root().join("e"));
    fs::create_dir(&e).unwrap();
    while_swapping(&d, &e, || count_hidden(&server, 40, "cat d/.env e/.env 2>/dev/null || true"));
    assert_hidden(&server, "cat d/.env e/.env 2>/dev/null; true");
}

#[test]
fn a_root_with_many_entries_is_searched_to_its_end() {
    let server = server_with(&[]);
    let root = server.root();
    for directory in 0..60 {
        let directory = root.join(format!("{directory:02}"));
        fs::create_dir(&directory).unwrap();
        let first = directory.join("first");
        fs::write(&first, "").unwrap();
        (0..2000).for_each(|file| fs::hard_link(&first, directory.join(file.to_string())).unwrap());
    }
    write_secrets(&root, &["59/a/b/.env"]);
    assert_hidden(&server, "cat 59/a/b/.env 2>&1; true");
    let ran = bash(&server, "mkdir 58/x && echo x > 58/x/.envrc");
    assert!(ran.meta.data["created_control_files"].to_string().contains("58/x/.envrc"), "{ran:?}");
}

#[test]
fn read_only_roots_hide_denied_names_as_well() {
    let builder = ToolServer::builder();
    let toolchain = builder.dir().outside().join("toolchain");
    write_secrets(&toolchain, &[".env", "lib/deep/.npmrc"]);
    fs::write(toolchain.join("lib/shown"), "SHOWN").unwrap();
    let server = builder.variable("AUTONOUS_TOOL_READONLY_ROOTS", toolchain.to_str().unwrap()).start();
    let toolchain = toolchain.display();
    let ran = bash(&server, &format!("cat {toolchain}/lib/shown"));
    assert_eq!(ran.stdout, "SHOWN", "{ran:?}");
    assert_hidden(&server, &format!("cat {toolchain}/.env {toolchain}/lib/deep/.npmrc 2>&1; true"));
}

#[test]
fn a_directory_whose_name_makes_a_file_denied_cannot_be_renamed() {
    let server = server_with(&["home/.docker/config.json"]);
    bash(&server, "mv home/.docker home/docker; cp -r home/.docker home/copy; true");
    assert_hidden(&server, "cat home/docker/config.json home/copy/config.json 2>&1; true");
    assert!(server.root().join("home/.docker/config.json").exists());
    // Directories above may move, and the rest of the directory is open.
    assert!(bash(&server, "mv home elsewhere && echo x > elsewhere/.docker/other").ok);
    assert_hidden(&server, "cat elsewhere/.docker/config.json 2>&1; true");
}

#[test]
fn a_directory_that_is_closed_and_opened_again_hides_it() {
    let builder = ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full").unprivileged();
    let mut server = builder.start();
    // As the server's own user, who is not this one.
    assert!(bash(&server, "mkdir -p d/deep").ok);
    write_secrets(&server.root(), &["d/deep/.env"]);
    fs::set_permissions(server.root().join("d/deep/.env"), fs::Permissions::from_mode(0o644)).unwrap();
    let open = "chmod -R u+rwx d; cat d/deep/.env 2>&1; true";
    assert_hidden(&server, open);
    bash(&server, "chmod 000 d/deep");
    assert_hidden(&server, open);
    // A server that has never seen its content hides the whole directory.
    bash(&server, "chmod 000 d/deep");
    server.crash(|_| ());
    assert_hidden(&server, open);
    fs::set_permissions(server.root().join("d/deep"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_hidden(&server, open);
    assert!(bash(&server, "echo x > d/deep/other").ok, "what can be searched again is open");
}
