//! What the tool server refuses to start with, and its messages.

use std::fs;
use std::path::PathBuf;

use harness::tool_server::ToolServerBuilder;
use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::json;

/// The start must fail, and stderr must contain each of `words`.
fn check(what: &str, builder: ToolServerBuilder, words: &[&str]) {
    let refusal = builder.start_refused();
    assert!(!refusal.status.success(), "{what}: started and ended with {}", refusal.status);
    for word in words {
        assert!(refusal.stderr.contains(word), "{what}: does not say {word}:\n{}", refusal.stderr);
    }
    assert!(!refusal.stderr.contains("panicked"), "{what}: {}", refusal.stderr);
}

fn with_roots(roots: &[&str]) -> ToolServerBuilder {
    let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
    ToolServer::builder().roots(&roots)
}

/// Such an entry once sent the server into endless recursion while it listed the skills for a hint.
#[test]
fn an_unusable_entry_of_the_skills_directory_is_skipped() {
    let builder = ToolServer::builder();
    let skills = builder.dir().data().join("skills");
    for directory in ["good", "empty", "bad name"] {
        fs::create_dir_all(skills.join(directory)).unwrap();
    }
    fs::write(skills.join("good/SKILL.md"), "---\nname: good\ndescription: works\n---\nDo it.\n").unwrap();
    fs::write(skills.join("notes.txt"), "not a skill").unwrap();
    let mut server = builder.start();
    for name in ["empty", "unknown"] {
        let error = server.call("skill", &json!({ "name": name })).meta.error.unwrap();
        assert_eq!(error.code, ErrorCode::NotFound, "{name}");
        assert_eq!(error.hint, "The skills are: good.", "{name}");
    }
    assert!(server.call("skill", &json!({"name": "good"})).ok);
    let log = server.program().log();
    for entry in ["empty", "bad name", "notes.txt"] {
        let warned = log.lines().any(|line| line.contains("WARN") && line.contains(entry));
        assert!(warned, "no warning about {entry}:\n{log}");
    }
}

const ROOTS: &str = "AUTONOUS_TOOL_ALLOWED_ROOTS";

#[test]
fn wrong_roots_stop_the_start() {
    check("no root", with_roots(&[]), &[ROOTS]);
    check("a relative root", with_roots(&["root"]), &[ROOTS, "root", "absolute"]);
    check("a missing root", with_roots(&["/nowhere/at/all"]), &[ROOTS, "/nowhere/at/all"]);
    let builder = ToolServer::builder();
    let file = builder.dir().path().join("file");
    fs::write(&file, "x").unwrap();
    check("a file", builder.roots(std::slice::from_ref(&file)), &[ROOTS, &file.display().to_string()]);
    for root in ["/", "/proc", "/sys", "/dev", "/run", "/etc", "/proc/self", "/etc/", "/dev/shm/../shm/.."] {
        check(root, with_roots(&[root]), &[ROOTS]);
    }
    let builder = ToolServer::builder();
    let link = builder.dir().path().join("link");
    std::os::unix::fs::symlink("/etc", &link).unwrap();
    check("a link to /etc", builder.roots(&[link]), &[ROOTS]);
}

#[test]
fn a_root_that_holds_the_servers_own_files_stops_the_start() {
    for own in [|b: &ToolServerBuilder| b.dir().data(), |b: &ToolServerBuilder| b.dir().path().to_owned()] {
        let builder = ToolServer::builder();
        let root = own(&builder);
        check(&root.display().to_string(), builder.roots(std::slice::from_ref(&root)), &[ROOTS]);
    }
    let builder = ToolServer::builder();
    let journal = builder.dir().root().join("journal.jsonl").display().to_string();
    check("the journal in a root", builder.variable("AUTONOUS_TOOL_JOURNAL", &journal), &[ROOTS, "journal"]);
    let binary = harness::binaries::path_of("tool-server");
    let directory = binary.parent().unwrap().to_owned();
    check("the binary in a root", ToolServer::builder().roots(&[directory]), &[ROOTS]);
}

#[test]
fn a_machine_without_bash_stops_the_start_and_says_what_to_do() {
    let builder = ToolServer::builder();
    let empty = builder.dir().path().join("empty");
    fs::create_dir(&empty).unwrap();
    check("no bash", builder.variable("PATH", &empty.display().to_string()), &["bash", "PATH"]);
}

#[test]
fn listening_beyond_this_machine_needs_a_token() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let builder = ToolServer::builder().variable("AUTONOUS_TOOL_LISTEN", address);
        check(address, builder, &["AUTONOUS_TOOL_TOKEN"]);
    }
    let server =
        ToolServer::builder().variable("AUTONOUS_TOOL_LISTEN", "0.0.0.0:0").token("FAKE-token-1").start();
    let local = format!("127.0.0.1:{}", server.address().port());
    let answer = server.send(Request::post("/tools/ls", "{}").header("Host", &local));
    assert!(answer.envelope().ok, "{}", answer.text());
}

#[test]
fn the_network_of_commands_has_one_setting_an_older_name_and_needs_a_token() {
    const NETWORK: &str = "AUTONOUS_TOOL_BASH_NETWORK";
    const OLDER: &str = "AUTONOUS_TOOL_BASH_ALLOW_NETWORK";
    let builder = || ToolServer::builder().token("FAKE-token-1");
    for (older, newer) in [("true", "off"), ("true", "all"), ("false", "public")] {
        let both = builder().variable(OLDER, older).variable(NETWORK, newer);
        check("they contradict each other", both, &[OLDER, NETWORK, older]);
    }
    check("no token", ToolServer::builder().variable(OLDER, "true"), &[NETWORK, "public", "TOKEN"]);
    for (name, value, expected) in [(OLDER, "true", "public addresses"), (NETWORK, "all", "server's network")]
    {
        let server = builder().variable(name, value).start();
        let request = Request::get("/capabilities").bearer("FAKE-token-1");
        let layers = server.send(request).json()["commands"]["layers"].clone();
        let meanings: Vec<&str> =
            layers.as_array().unwrap().iter().filter_map(|layer| layer["meaning"].as_str()).collect();
        assert!(meanings.iter().any(|meaning| meaning.contains(expected)), "{value}: {meanings:?}");
    }
}

#[test]
fn values_that_do_not_parse_stop_the_start_and_are_named() {
    let cases = [
        ("AUTONOUS_TOOL_TIMEOUT_SECONDS", "soon"),
        ("AUTONOUS_TOOL_MAX_OUTPUT_LINES", "-1"),
        ("AUTONOUS_TOOL_MAX_OUTPUT_BYTES", "many"),
        ("AUTONOUS_TOOL_LISTEN", "localhost"),
        ("AUTONOUS_LOG_FORMAT", "xml"),
        ("AUTONOUS_TOOL_BASH_NETWORK", "private"),
    ];
    for (name, value) in cases {
        check(name, ToolServer::builder().variable(name, value), &[name, value]);
    }
}

#[test]
fn a_secret_in_the_environment_is_gone_from_it_after_the_start() {
    let mut server = ToolServer::builder().token("FAKE-token-to-be-hidden").start();
    if let Some(environment) = harness::environment(server.program().pid()) {
        assert!(environment.contains("AUTONOUS_DATA_DIR"), "this is the server's environment: {environment}");
        assert!(!environment.contains("FAKE-token-to-be-hidden"), "{environment}");
    }
    assert!(!server.program().log().contains("FAKE-token-to-be-hidden"));
    server.assert_alive("a start with a secret in its environment");
}
