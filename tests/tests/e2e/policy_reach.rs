//! Rules about paths and hosts hold for all that a call reaches: what it undoes, what it comes upon below the
//! directory that it names, and a host however its address is written.

use std::fs;
use std::os::unix::fs::symlink;

use harness::ToolServer;
use harness::http::Request;
use protocol::Envelope;
use serde_json::{Value, json};

use crate::policy::{DENIED, REQUIRED, with_rules};

fn about(paths: &str, decision: &str) -> String {
    format!("[[rule]]\npaths = [{paths}]\ndecision = \"{decision}\"\n")
}

/// A tree with a file in the open and one below `never`, in several depths.
fn plant(server: &ToolServer) {
    let root = server.root();
    fs::create_dir_all(root.join("never/deep")).unwrap();
    fs::create_dir_all(root.join("open/never")).unwrap();
    for file in ["never/a.txt", "never/deep/b.txt", "open/c.txt", "open/never/d.txt"] {
        fs::write(root.join(file), format!("needle in {file}\n")).unwrap();
    }
    symlink("never", root.join("link")).unwrap();
}

#[test]
fn undo_asks_the_rules_as_they_are_now() {
    let mut server = with_rules("").start();
    fs::create_dir(server.root().join("late")).unwrap();
    let written = server.call("write", &json!({"path": "late/x", "content": "one\n"}));
    let others = server.call("write", &json!({"path": "other", "content": "one\n"}));
    server.crash(|dir| drop(dir.write_policy(&about("\"late/**\"", "deny"))));
    let undo = |call: &Envelope, body: &str| {
        let path = format!("/changes/{}/undo", call.meta.call_id);
        server.send(Request::post(&path, body)).envelope()
    };
    for body in ["", "{\"dry_run\": true}"] {
        let refused = undo(&written, body);
        assert_eq!(refused.error_code(), DENIED, "{refused:?}");
    }
    assert_eq!(fs::read_to_string(server.root().join("late/x")).unwrap(), "one\n");
    assert!(undo(&others, "").ok);
    assert!(!server.root().join("other").exists());
}

#[test]
fn a_rule_for_what_is_in_a_directory_holds_for_the_directory() {
    for glob in ["never/**", "./never/**", "never/", "never/**/*", "**/never/**"] {
        let server = with_rules(&about(&format!("\"{glob}\""), "deny")).start();
        plant(&server);
        for path in ["never", "./never/", "never/deep", "link", "open/../never"] {
            for (tool, arguments) in [
                ("grep", json!({"path": path, "pattern": "needle"})),
                ("find", json!({"path": path})),
                ("ls", json!({"path": path})),
                ("ls", json!({"path": path, "recursive": true})),
                ("bash", json!({"cmd": "true", "workdir": path})),
            ] {
                let refused = server.call(tool, &arguments);
                assert_eq!(refused.error_code(), DENIED, "{glob}: {tool} {arguments}: {refused:?}");
            }
        }
    }
    let bad = "[[rule]]\npaths = [\"a/../never/**\"]\ndecision = \"deny\"\n";
    let refusal = with_rules(bad).start_refused();
    assert!(refusal.stderr.contains("`..`"), "{}", refusal.stderr);
}

#[test]
fn a_search_from_above_leaves_out_what_is_denied_and_says_so() {
    for (glob, hidden) in [
        ("\"never/**\"", &["never/a.txt", "never/deep/b.txt"][..]),
        ("\"**/never/**\"", &["never/a.txt", "never/deep/b.txt", "open/never/d.txt"]),
        ("\"never/*.txt\"", &["never/a.txt"]),
        ("\"**/b.txt\", \"open/c.txt\"", &["never/deep/b.txt", "open/c.txt"]),
        ("\"{ROOT}/never/**\"", &["never/a.txt", "never/deep/b.txt"]),
    ] {
        let builder = ToolServer::builder();
        let root = builder.dir().root().display().to_string();
        let server = builder.policy(&about(&glob.replace("{ROOT}", &root), "deny")).start();
        plant(&server);
        let all = ["never/a.txt", "never/deep/b.txt", "open/c.txt", "open/never/d.txt"];
        for (tool, arguments) in [
            ("grep", json!({"path": ".", "pattern": "needle"})),
            ("grep", json!({"path": ".", "pattern": "needle", "output": "files"})),
            ("grep", json!({"path": ".", "pattern": "needle", "output": "count"})),
            ("find", json!({"path": "."})),
            ("find", json!({"path": ".", "name_pattern": "*.txt"})),
            ("ls", json!({"path": ".", "recursive": true})),
            ("ls", json!({"path": ".", "recursive": true, "long": true})),
        ] {
            let found = server.call(tool, &arguments);
            assert!(found.ok, "{glob}: {tool}: {found:?}");
            for file in all {
                let is_shown = found.stdout.contains(file);
                assert_eq!(
                    is_shown,
                    !hidden.contains(&file),
                    "{glob}: {tool} {arguments}: {file}: {}",
                    found.stdout
                );
            }
            let notices = format!("{:?}", found.meta.notices);
            assert!(notices.contains("operator's rules"), "{glob}: {tool}: {notices}");
        }
    }
    let server = with_rules(&about("\"never/**\"", "deny")).start();
    plant(&server);
    let listed = server.call("ls", &json!({"path": "."}));
    assert!(listed.ok && !listed.stdout.contains("never") && listed.stdout.contains("open"), "{listed:?}");
}

#[test]
fn a_search_asks_about_what_it_would_come_upon() {
    let server = with_rules(&about("\"never/**\"", "ask")).start();
    plant(&server);
    let grep = |path: &str| server.call("grep", &json!({"path": path, "pattern": "needle"}));
    for path in [".", "never", "never/deep", "link"] {
        let asked = grep(path);
        assert_eq!(asked.error_code(), REQUIRED, "{path}: {asked:?}");
        assert!(!asked.stdout.contains("needle"), "{path}");
    }
    assert!(grep("open").ok, "nothing there is asked about");
    assert!(server.call("ls", &json!({"path": "."})).ok, "a list of names shows nothing of what is in them");
    assert_eq!(server.call("ls", &json!({"path": ".", "recursive": true})).error_code(), REQUIRED);
    assert_eq!(server.call("find", &json!({"path": "."})).error_code(), REQUIRED);
}

#[test]
fn only_a_rule_for_a_whole_tree_allows_a_search_of_it() {
    let rules = format!("{}{}", about("\"open/**\"", "allow"), about("\"**\"", "deny"));
    let server = with_rules(&rules).start();
    plant(&server);
    let grep = |path: &str| server.call("grep", &json!({"path": path, "pattern": "needle"}));
    assert!(grep("open").stdout.contains("open/never/d.txt"));
    assert_eq!(grep(".").error_code(), DENIED);
    let rules = format!("{}{}", about("\"open\", \"open/*\"", "allow"), about("\"**\"", "deny"));
    let server = with_rules(&rules).start();
    plant(&server);
    assert_eq!(server.call("grep", &json!({"path": "open", "pattern": "needle"})).error_code(), DENIED);
    assert!(server.call("read", &json!({"path": "open/c.txt"})).ok);
}

/// Arguments with which each tool and transfer touches a path; none for those that touch none.
fn touching(tool: &str) -> Option<Value> {
    Some(match tool {
        "bash" => json!({"cmd": "true", "workdir": "never"}),
        "delete" | "read" | "file_download" | "file_upload" => json!({"path": "never/a.txt"}),
        "edit" => json!({"path": "never/a.txt", "find": "a", "replace": "b"}),
        "multi_edit" => json!({"path": "never/a.txt", "edits": [{"find": "a", "replace": "b"}]}),
        "write" => json!({"path": "never/a.txt", "content": "x"}),
        "find" | "ls" => json!({"path": "never"}),
        "grep" => json!({"path": "never", "pattern": "needle"}),
        "url_fetch" => json!({"url": "http://127.0.0.1/", "download_path": "never/new"}),
        // Their paths are those of skills and of what was changed: they have tests of their own.
        "run_script" | "skill" | "undo" => return None,
        // Its paths are those of the `state` root: it has a test of its own.
        "todo_update" | "web_search" => return None,
        // The paths of a process are those of the call that started it.
        "process_kill" | "process_list" | "process_read" | "process_write" => return None,
        new => panic!("{new}: say here what it touches"),
    })
}

#[test]
fn no_tool_and_no_transfer_passes_a_rule_about_its_paths() {
    let rules = about("\"never/**\"", "deny");
    let builder = with_rules(&rules).variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "127.0.0.1");
    let server = builder.start();
    plant(&server);
    let catalogue = server.send(Request::get("/tools")).json();
    let tools = catalogue["tools"].as_array().unwrap().iter();
    let tools = tools.filter_map(|tool| tool["name"].as_str()).chain(["file_download", "file_upload"]);
    for tool in tools {
        let Some(arguments) = touching(tool) else { continue };
        let answer = match tool {
            "file_download" => server.send(Request::get("/files?path=never/a.txt")),
            "file_upload" => server.send(Request::put("/files?path=never/a.txt", "x")),
            _ => server.send(Request::call(tool, &arguments)),
        };
        assert_eq!(answer.envelope().error_code(), DENIED, "{tool}: {}", answer.text());
    }
    assert_eq!(fs::read_to_string(server.root().join("never/a.txt")).unwrap(), "needle in never/a.txt\n");
}

#[test]
fn a_host_is_the_same_however_it_is_written() {
    let fetching = |rule: &str| {
        with_rules(&format!("[[rule]]\nhosts = [{rule}]\ndecision = \"deny\"\nreason = \"that host\"\n"))
            .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")
            .variable("AUTONOUS_FETCH_ALLOW_PRIVATE", "true")
            .start()
    };
    let server = fetching("\"127.0.0.1\", \"Example.COM.\", \"bücher.example\", \"::1\"");
    for host in [
        "127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "0x7f000001",
        "2130706433", "0177.0.0.1", "127.1", "127.0.0.1.", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
        "[::127.0.0.1]", "example.com", "EXAMPLE.com", "example.com.", "xn--bcher-kva.example",
        "BÜCHER.example", "[::1]", "user@127.0.0.1",
    ] {
        let refused = server.call("url_fetch", &json!({"url": format!("http://{host}:9/")}));
        assert_eq!(refused.error_code(), DENIED, "{host}: {refused:?}");
        assert!(refused.meta.error.unwrap().message.contains("that host"), "{host}");
    }
    for rule in ["[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.*", "[::1]", "*"] {
        let server = fetching(&format!("\"{rule}\""));
        let host = if rule == "[::1]" { rule } else { "127.0.0.1" };
        let refused = server.call("url_fetch", &json!({"url": format!("http://{host}:9/")}));
        assert_eq!(refused.error_code(), DENIED, "{rule}: {refused:?}");
    }
    let other = server.call("url_fetch", &json!({"url": "http://127.0.0.2:9/", "timeout_seconds": 5}));
    assert_ne!(other.error_code(), DENIED, "{other:?}");
}
