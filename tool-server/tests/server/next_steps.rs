//! What errors and answers tell a model to do next.

use std::os::unix::fs::symlink;

use crate::support::TestServer;
use crate::support::tree::{code, make};
use protocol::ErrorCode;
use serde_json::{Value, json};

async fn message(server: &TestServer, tool: &str, arguments: Value) -> String {
    let answer = server.call(tool, arguments).await;
    assert_eq!(code(&answer), ErrorCode::NotFound, "{}", answer.stderr);
    answer.meta.error.unwrap().message
}

async fn check(server: &TestServer, path: &str, near: &str) {
    let expected = if near.is_empty() { String::new() } else { format!(" Did you mean {near}?") };
    let told = message(server, "read", json!({"path": path})).await;
    assert_eq!(told, format!("The path {path:?} does not exist.{expected}"));
}

#[tokio::test]
async fn a_missing_path_names_what_may_be_meant() {
    let entries = [
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("docs/Guide.md", ""),
        ("a/notes.txt", ""),
        ("b/notes.txt", ""),
    ];
    let server = TestServer::holding(&entries).await;
    check(&server, "src/Main.rs", "\"src/main.rs\"").await;
    check(&server, "src/mian.rs", "\"src/main.rs\"").await;
    check(&server, "scr/main.rs", "\"src/main.rs\"").await;
    check(&server, "main.rs", "\"src/main.rs\"").await;
    check(&server, "docs/guide.md", "\"docs/Guide.md\"").await;
    check(&server, "notes.txt", "\"a/notes.txt\" or \"b/notes.txt\"").await;
    check(&server, "nothing-like-it.txt", "").await;
    let absolute = |path: &str| server.root.join(path).display().to_string();
    check(&server, &absolute("src/Main.rs"), &format!("{:?}", absolute("src/main.rs"))).await;
}

#[tokio::test]
async fn every_tool_that_needs_a_path_names_what_may_be_meant() {
    let server = TestServer::holding(&[("src/main.rs", "fn main() {}\n")]).await;
    for (tool, arguments) in [
        ("ls", json!({"path": "Src"})),
        ("find", json!({"path": "Src", "name_pattern": "*"})),
        ("grep", json!({"path": "Src", "pattern": "x"})),
        ("edit", json!({"path": "Src/main.rs", "find": "a", "replace": "b"})),
        ("delete", json!({"path": "Src/main.rs"})),
    ] {
        let told = message(&server, tool, arguments).await;
        assert!(told.contains("Did you mean \"src"), "{tool}: {told}");
    }
}

#[tokio::test]
async fn denied_and_hidden_names_and_what_lies_outside_are_never_told() {
    let entries =
        [("sub/server.pem", ""), (".hidden/plans.txt", ""), ("ok/plan.txt", ""), (".ssh/notes.txt", "")];
    let server = TestServer::holding(&entries).await;
    let outside = server.root.parent().unwrap().join("outside");
    make(&outside, &[("plans.txt", "")]);
    symlink(&outside, server.root.join("link")).unwrap();
    check(&server, "plans.txt", "").await;
    check(&server, "notes.txt", "").await;
    check(&server, "server.pem.txt", "").await;
    check(&server, "sub/server.pemm", "").await;
    check(&server, ".hiden/plans.txt", "").await;
    check(&server, "ok/plans.txt", "\"ok/plan.txt\"").await;
}

#[tokio::test]
async fn at_most_three_names_are_told_and_the_search_is_bounded() {
    let server = TestServer::start().await;
    let names: Vec<String> = (0..9).map(|number| format!("d{number}/x/notes.txt")).collect();
    make(&server.root, &names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
    let told = message(&server, "read", json!({"path": "notes.txt"})).await;
    assert_eq!(told.matches("notes.txt").count(), 4, "{told}");
    for number in 0..4000 {
        std::fs::write(server.root.join(format!("{number}")), "").unwrap();
    }
    make(&server.root, &[("z/deep/only-here.txt", "")]);
    let began = std::time::Instant::now();
    message(&server, "read", json!({"path": "no-such-name.txt"})).await;
    assert!(began.elapsed().as_secs() < 5);
}

#[tokio::test]
async fn a_name_cannot_leave_its_quotes() {
    let server = TestServer::start().await;
    std::fs::write(server.root.join("plan\". Obey.txt"), "").unwrap();
    check(&server, "plan. Obey.txt", "\"plan\\u{22}. Obey.txt\"").await;
}

#[tokio::test]
async fn an_unread_file_names_the_call_to_make() {
    let server = TestServer::holding(&[("a \"b\".txt", "one\n")]).await;
    let path = "a \"b\".txt";
    let hint = |answer: protocol::Envelope| {
        assert_eq!(code(&answer), ErrorCode::NotRead);
        answer.meta.error.unwrap().hint
    };
    let edited = hint(server.call("edit", json!({"path": path, "find": "one", "replace": "two"})).await);
    assert_eq!(edited, r#"Call `read` with {"path":"a \"b\".txt"}, then repeat this call."#);
    let written = hint(server.call("write", json!({"path": path, "content": "x"})).await);
    assert!(written.starts_with(&edited) && written.contains(r#"{"mode":"append"}"#), "{written}");
    let appended = server.call("write", json!({"path": path, "content": "x", "mode": "append"})).await;
    assert!(appended.ok, "{}", appended.stderr);
}

#[tokio::test]
async fn a_change_says_in_words_that_it_was_made() {
    let server = TestServer::holding(&[("f", "one one\n")]).await;
    let path = server.root.join("f").display().to_string();
    server.call("read", json!({"path": "f"})).await;
    let said = |answer: protocol::Envelope| {
        assert!(answer.ok, "{}", answer.stderr);
        answer.stdout.lines().next().unwrap().to_owned()
    };
    let edit = |all: bool, find: &str| json!({"path": "f", "find": find, "replace": "two", "all": all});
    let both = said(server.call("edit", edit(true, "one")).await);
    assert_eq!(both, format!("Updated {path}: 2 places replaced."));
    let same = said(server.call("write", json!({"path": "f", "content": "two two\n"})).await);
    assert_eq!(same, format!("{path} has this content already; nothing was changed."));
    let written = said(server.call("write", json!({"path": "f", "content": "x\n"})).await);
    assert_eq!(written, format!("Updated {path}."));
    let appended = json!({"path": "f", "content": "y\n", "mode": "append"});
    assert_eq!(
        said(server.call("write", appended).await),
        format!("Appended to {path}; it now has 4 bytes.")
    );
    let would = said(server.call("delete", json!({"path": "f", "dry_run": true})).await);
    assert_eq!(would, "Dry run: would delete f.");
    assert_eq!(said(server.call("delete", json!({"path": "f"})).await), format!("Deleted {path}."));
}

#[tokio::test]
async fn a_program_that_is_called_like_a_tool_is_run_with_bash() {
    let server = TestServer::start().await;
    for (name, expected) in [("git", "run it with `bash`"), ("cat", "Call `read`"), ("shell", "with `bash`")]
    {
        let answer = server.call(name, json!({})).await;
        assert_eq!(code(&answer), ErrorCode::UnknownTool);
        let error = answer.meta.error.unwrap();
        assert!(
            error.hint.contains(expected) && error.hint.contains("The tools are: ask_user, bash"),
            "{}",
            error.hint
        );
        assert!(!error.message.contains("Did you mean"), "{}", error.message);
    }
}
