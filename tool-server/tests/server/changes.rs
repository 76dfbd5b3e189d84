//! `write`, `edit`, `multi_edit` and `delete` as a caller sees them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::support::tree::code;
use crate::support::{MAX_EDIT_BYTES, TestServer};
use protocol::{ErrorCode, Status};
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
    let mut arguments = json!({"path": "a/b/c.txt", "content": "hello\n", "dry_run": true});
    let predicted = server.call("write", arguments.clone()).await;
    assert_eq!(predicted.meta.status, Status::Partial, "{}", predicted.stderr);
    assert!(!server.root.join("a").exists(), "a dry run creates no directory");
    arguments["dry_run"] = json!(false);
    let made = server.call("write", arguments).await;
    let lines = |stdout: &str| stdout.lines().map(str::to_owned).collect::<Vec<_>>();
    let (would, did) = (lines(&predicted.stdout), lines(&made.stdout));
    assert_eq!((&made.meta.data["operation"], &did[3..]), (&json!("create"), &would[3..]));
    assert_eq!(did[3..], ["@@ -0,0 +1 @@", "+hello"]);
    let path = server.root.join("a/b/c.txt").display().to_string();
    assert_eq!(did[0], format!("Created {path} (6 bytes)."));
    let shorter = ["Dry run: would create a/b/c.txt (6 bytes).", "--- /dev/null", "+++ a/b/c.txt"];
    assert_eq!(would[..3], shorter, "a person reads it on a phone");
    assert_eq!(predicted.meta.context.path_resolved.as_deref(), Some(&*path));
    assert_eq!(content(&server, "a/b/c.txt"), "hello\n");
    let again = server.call("edit", json!({"path": "a/b/c.txt", "find": "hello", "replace": "bye"})).await;
    assert!(again.ok, "the session's own write counts as read: {}", again.stderr);
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
    assert_eq!(written.meta.notices.len(), 3, "the mark, the line ends, and the mark's escape in the diff");
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
