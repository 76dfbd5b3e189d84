//! `write`, `edit`, `multi_edit` and `delete` as a caller sees them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::support::tree::{code, make_fifo};
use crate::support::{MAX_EDIT_BYTES, TestServer};
use protocol::{Envelope, ErrorCode, Status};
use serde_json::{Value, json};

/// A server whose root has one file that the session has read.
async fn server_with(path: &str, content: impl AsRef<[u8]>) -> TestServer {
    let server = TestServer::start().await;
    fs::write(server.root.join(path), content).unwrap();
    assert!(server.call("read", json!({"path": path})).await.ok);
    server
}

fn content(server: &TestServer, path: &str) -> String {
    fs::read_to_string(server.root.join(path)).unwrap()
}

#[tokio::test]
async fn a_new_file_is_created_with_its_directories() {
    let server = TestServer::start().await;
    let made = server.call("write", json!({"path": "a/b/c.txt", "content": "hello\n"})).await;
    assert_eq!(made.meta.data["operation"], "create");
    assert_eq!(made.stdout.lines().skip(2).collect::<Vec<_>>(), ["@@ -0,0 +1 @@", "+hello"]);
    assert_eq!(content(&server, "a/b/c.txt"), "hello\n");
    let again = server.call("edit", json!({"path": "a/b/c.txt", "find": "hello", "replace": "bye"})).await;
    assert!(again.ok, "the session's own write counts as read: {}", again.stderr);
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_overwritten_edited_or_deleted() {
    let server = TestServer::holding(&[("f", "old")]).await;
    let calls = [
        ("write", json!({"path": "f", "content": "new"})),
        ("edit", json!({"path": "f", "find": "old", "replace": "new"})),
        ("multi_edit", json!({"path": "f", "edits": [{"find": "old", "replace": "new"}]})),
        ("delete", json!({"path": "f"})),
    ];
    for (tool, arguments) in calls {
        assert_eq!(code(&server.call(tool, arguments).await), ErrorCode::NotRead, "{tool}");
    }
    assert_eq!(content(&server, "f"), "old");
    assert!(server.call_in("other", "read", json!({"path": "f"})).await.ok);
    let blind = server.call("write", json!({"path": "f", "content": "new"})).await;
    assert_eq!(code(&blind), ErrorCode::NotRead, "what another session read does not count");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_a_conflict_and_a_touch_is_none() {
    let server = server_with("f", "aaa").await;
    fs::write(server.root.join("f"), "aaa").unwrap();
    let touched = server.call("edit", json!({"path": "f", "find": "aaa", "replace": "bbb"})).await;
    assert!(touched.ok, "{}", touched.stderr);
    let kept_time = fs::metadata(server.root.join("f")).unwrap().modified().unwrap();
    fs::write(server.root.join("f"), "ccc").unwrap();
    fs::File::options().write(true).open(server.root.join("f")).unwrap().set_modified(kept_time).unwrap();
    let changed = server.call("edit", json!({"path": "f", "find": "ccc", "replace": "ddd"})).await;
    assert_eq!(code(&changed), ErrorCode::Conflict);
    let hash =
        server.call("read", json!({"path": "f"})).await.meta.data["sha256"].as_str().unwrap().to_owned();
    assert!(changed.stderr.contains(&hash), "the conflict names the current hash: {}", changed.stderr);
    assert_eq!(content(&server, "f"), "ccc");
}

#[tokio::test]
async fn an_expected_hash_takes_precedence_over_what_was_read() {
    let server = TestServer::start().await;
    let made = server.call_in("writer", "write", json!({"path": "f", "content": "one"})).await;
    let hash = made.meta.data["sha256_after"].clone();
    let call = |expected: &Value| json!({"path": "f", "content": "two", "expected_sha256": expected});
    assert_eq!(code(&server.call("write", call(&json!("0".repeat(64)))).await), ErrorCode::Conflict);
    assert!(server.call("write", call(&hash)).await.ok);
    assert_eq!(code(&server.call("write", call(&hash)).await), ErrorCode::Conflict);
    let absent = json!({"path": "absent", "content": "x", "expected_sha256": hash});
    assert_eq!(code(&server.call("write", absent).await), ErrorCode::Conflict);
}

#[tokio::test]
async fn appending_needs_no_reading_and_works_in_place() {
    let server = TestServer::holding(&[("log", "one\n")]).await;
    let inode = fs::metadata(server.root.join("log")).unwrap().ino();
    let added = server.call("write", json!({"path": "log", "content": "two\n", "mode": "append"})).await;
    let data = &added.meta.data;
    assert_eq!(data["operation"], "append");
    assert_eq!((&data["bytes_before"], &data["bytes_after"]), (&json!(4), &json!(8)));
    assert_eq!(content(&server, "log"), "one\ntwo\n");
    assert_eq!(fs::metadata(server.root.join("log")).unwrap().ino(), inode);
    let blind = server.call("write", json!({"path": "log", "content": "x"})).await;
    assert_eq!(code(&blind), ErrorCode::NotRead, "appending is not reading");
    let made = server.call("write", json!({"path": "new", "content": "x", "mode": "append"})).await;
    assert_eq!(made.meta.data["operation"], "create");
}

#[tokio::test]
async fn a_hard_link_is_never_written_through() {
    let server = TestServer::start().await;
    let outside = server.root.parent().unwrap().join("outside");
    for mode in ["append", "overwrite"] {
        fs::write(&outside, "secret").unwrap();
        let name = format!("link-{mode}");
        fs::hard_link(&outside, server.root.join(&name)).unwrap();
        assert!(server.call("read", json!({"path": name})).await.ok);
        let written = server.call("write", json!({"path": name, "content": "X", "mode": mode})).await;
        assert!(written.ok, "{}", written.stderr);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    }
    assert_eq!(content(&server, "link-append"), "secretX");
}

#[tokio::test]
async fn mode_line_endings_and_byte_order_mark_survive() {
    let server = server_with("script", "\u{feff}#!/bin/sh\r\necho x\r\n").await;
    fs::set_permissions(server.root.join("script"), fs::Permissions::from_mode(0o4755)).unwrap();
    let edited = server
        .call("edit", json!({"path": "script", "find": "echo x\n", "replace": "echo y\necho z\n"}))
        .await;
    assert!(edited.ok, "{}", edited.stderr);
    assert_eq!(content(&server, "script"), "\u{feff}#!/bin/sh\r\necho y\r\necho z\r\n");
    let mode = fs::metadata(server.root.join("script")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o755, "the mode is kept and no set-id bit is");
    let written = server.call("write", json!({"path": "script", "content": "a\nb\n"})).await;
    assert_eq!(content(&server, "script"), "\u{feff}a\r\nb\r\n");
    assert_eq!(written.meta.notices.len(), 2);
}

#[tokio::test]
async fn user_attributes_are_kept() {
    let server = server_with("f", "a").await;
    let path = server.root.join("f");
    rustix::fs::setxattr(&path, "user.origin", b"test", rustix::fs::XattrFlags::empty()).unwrap();
    assert!(server.call("edit", json!({"path": "f", "find": "a", "replace": "b"})).await.ok);
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.origin", &mut value).unwrap();
    assert_eq!(&value[..length], b"test");
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_predicts_exactly() {
    let server = server_with("f", "one\ntwo\n").await;
    let calls = [
        ("edit", json!({"path": "f", "find": "two", "replace": "2"})),
        ("multi_edit", json!({"path": "f", "edits": [{"find": "one", "replace": "1"}]})),
        ("write", json!({"path": "f", "content": "three\n"})),
        ("delete", json!({"path": "f"})),
        ("write", json!({"path": "new/deep/file", "content": "x"})),
    ];
    for (tool, arguments) in calls {
        let before = fs::read(server.root.join("f")).ok();
        let mut dry = arguments.clone();
        dry["dry_run"] = json!(true);
        let predicted = server.call(tool, dry).await;
        assert_eq!(predicted.meta.status, Status::Partial, "{tool}: {}", predicted.stderr);
        assert_eq!(fs::read(server.root.join("f")).ok(), before);
        assert!(!server.root.join("new").exists());
        let real = server.call(tool, arguments).await;
        assert_eq!(real.meta.status, Status::Success, "{tool}: {}", real.stderr);
        assert_eq!(real.stdout, predicted.stdout, "{tool}");
        assert_eq!(real.meta.data["sha256_after"], predicted.meta.data["sha256_after"], "{tool}");
    }
    assert!(!server.root.join("f").exists());
}

#[tokio::test]
async fn control_files_and_denied_paths_are_not_written_at_any_depth_in_any_case() {
    let server = TestServer::holding(&[("repo/.git/", "")]).await;
    symlink("repo/.git", server.root.join("innocent")).unwrap();
    for (path, expected) in [
        (".git/hooks/pre-commit", ErrorCode::ProtectedPath),
        ("repo/.GIT/config", ErrorCode::ProtectedPath),
        ("sub/.envrc", ErrorCode::ProtectedPath),
        (".vscode/tasks.json", ErrorCode::ProtectedPath),
        ("innocent/config", ErrorCode::ProtectedPath),
        ("x/../.mcp.json", ErrorCode::ProtectedPath),
        (".env", ErrorCode::PathDenied),
        ("deep/.ssh/authorized_keys", ErrorCode::PathDenied),
        ("key.pem", ErrorCode::PathDenied),
    ] {
        let refused = server.call("write", json!({"path": path, "content": "x"})).await;
        assert_eq!(code(&refused), expected, "{path}");
    }
    let names: Vec<_> = fs::read_dir(&server.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no directory was created for a refused file: {names:?}");
}

#[tokio::test]
async fn links_are_resolved_inside_the_root_and_nothing_is_created_through_a_link_that_leads_out() {
    let server = server_with("real", "old").await;
    let outside = server.root.parent().unwrap().join("outside");
    symlink("real", server.root.join("inside")).unwrap();
    symlink(&outside, server.root.join("dangling")).unwrap();
    symlink("absent", server.root.join("dangling-inside")).unwrap();
    symlink(server.root.parent().unwrap(), server.root.join("up")).unwrap();
    assert!(server.call("write", json!({"path": "inside", "content": "new"})).await.ok);
    assert_eq!(content(&server, "real"), "new");
    assert!(fs::symlink_metadata(server.root.join("inside")).unwrap().is_symlink());
    for path in ["dangling", "up/outside", "up/new/outside", "../outside"] {
        let refused = server.call("write", json!({"path": path, "content": "PWNED"})).await;
        assert_eq!(code(&refused), ErrorCode::PathOutsideRoots, "{path}");
    }
    let refused = server.call("write", json!({"path": "dangling-inside", "content": "x"})).await;
    assert_eq!(code(&refused), ErrorCode::NotFound);
    assert!(!outside.exists());
}

#[tokio::test]
async fn only_regular_files_are_changed() {
    let server = TestServer::holding(&[("dir/", "")]).await;
    make_fifo(&server.root.join("fifo"));
    for (path, expected) in [
        ("fifo", ErrorCode::NotARegularFile),
        ("dir", ErrorCode::IsDirectory),
        (".", ErrorCode::IsDirectory),
        ("new/", ErrorCode::IsDirectory),
    ] {
        for (tool, arguments) in [
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "find": "a", "replace": "b"})),
        ] {
            assert_eq!(code(&server.call(tool, arguments).await), expected, "{tool} {path}");
        }
    }
}

#[tokio::test]
async fn delete_removes_files_links_and_empty_directories() {
    let server = server_with("f", "gone\n").await;
    fs::create_dir_all(server.root.join("full/sub")).unwrap();
    symlink("/etc/passwd", server.root.join("link")).unwrap();
    let deleted = server.call("delete", json!({"path": "f"})).await;
    assert!(deleted.stdout.ends_with("-gone\n"), "{}", deleted.stdout);
    assert!(server.call("delete", json!({"path": "link"})).await.ok);
    assert_eq!(code(&server.call("delete", json!({"path": "full"})).await), ErrorCode::IsDirectory);
    assert!(server.call("delete", json!({"path": "full/sub"})).await.ok);
    assert!(server.call("delete", json!({"path": "full"})).await.ok);
    assert_eq!(code(&server.call("delete", json!({"path": "."})).await), ErrorCode::InvalidArgument);
    assert_eq!(code(&server.call("delete", json!({"path": "f"})).await), ErrorCode::NotFound);
    assert_eq!(fs::read_dir(&server.root).unwrap().count(), 0);
}

#[tokio::test]
async fn large_files_are_locked_by_size_and_mtime_and_not_edited() {
    let server = server_with("big", vec![b'x'; usize::try_from(MAX_EDIT_BYTES).unwrap() + 1]).await;
    let edit = server.call("edit", json!({"path": "big", "find": "x", "replace": "y"})).await;
    assert_eq!(code(&edit), ErrorCode::FileTooLarge);
    let other = server.call_in("other", "write", json!({"path": "big", "content": "x"})).await;
    assert_eq!(code(&other), ErrorCode::NotRead);
    assert!(server.call("write", json!({"path": "big", "content": "small"})).await.ok);
    assert_eq!(content(&server, "big"), "small");
}

#[tokio::test]
async fn a_redaction_placeholder_is_not_stored() {
    let server = server_with("f", "a").await;
    for (tool, arguments) in [
        ("write", json!({"path": "f", "content": "key=***REDACTED***"})),
        ("edit", json!({"path": "f", "find": "a", "replace": "***REDACTED***"})),
        ("multi_edit", json!({"path": "f", "edits": [{"find": "a", "replace": "***REDACTED***"}]})),
    ] {
        assert_eq!(code(&server.call(tool, arguments).await), ErrorCode::InvalidArgument, "{tool}");
    }
}

#[tokio::test]
async fn parallel_writes_leave_one_whole_content_and_no_temporary_file() {
    let server = TestServer::start().await;
    let write = |letter: char| {
        let arguments = json!({"path": "f", "content": letter.to_string().repeat(100_000)});
        tokio::spawn(server.request("write", &arguments).send())
    };
    let mut made = 0;
    for call in ('a'..='t').map(write).collect::<Vec<_>>() {
        made += u32::from(call.await.unwrap().unwrap().json::<Envelope>().await.unwrap().ok);
    }
    assert!(made >= 1);
    let text = content(&server, "f");
    assert!(text.len() == 100_000 && text.bytes().all(|byte| byte == text.as_bytes()[0]));
    assert_eq!(fs::read_dir(&server.root).unwrap().count(), 1);
}

#[tokio::test]
async fn a_key_makes_a_call_act_once() {
    let server = TestServer::start().await;
    let append = |key: &'static str, text: &str| {
        let arguments = json!({"path": "log", "content": text, "mode": "append"});
        server.request("write", &arguments).header("idempotency-key", key).send()
    };
    let first: Envelope = append("k1", "one\n").await.unwrap().json().await.unwrap();
    let again: Envelope = append("k1", "one\n").await.unwrap().json().await.unwrap();
    assert_eq!(first, again);
    assert_eq!(content(&server, "log"), "one\n");
    let other = append("k1", "two\n").await.unwrap();
    assert_eq!(other.status(), 409);
    assert_eq!(code(&other.json().await.unwrap()), ErrorCode::IdempotencyConflict);
    assert!(append("k2", "one\n").await.unwrap().status().is_success());
    assert_eq!(content(&server, "log"), "one\none\n");
}
