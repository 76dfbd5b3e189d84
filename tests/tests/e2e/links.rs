//! `ls` on links and special files: nothing outside the roots is ever listed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use harness::envelope_shape::assert_whole;
use harness::{Request, ToolServer};
use protocol::{Envelope, ErrorClass, ErrorCode};
use serde_json::json;

use crate::file_errors::make_fifo;

/// A name that only a listing of the outside shows.
const OUTSIDE_NAME: &str = "secret.txt";

fn ls(server: &ToolServer, path: &str) -> Envelope {
    let request = Request::call("ls", &json!({"path": path, "recursive": true, "include_hidden": true}));
    let answer = server.send(request);
    let envelope = assert_whole(&answer);
    let said = format!("{}{}{}", envelope.stdout, envelope.stderr, envelope.meta.data);
    assert!(!said.contains(OUTSIDE_NAME), "{path} shows the outside: {said}");
    envelope
}

#[test]
fn links_that_lead_outside_are_refused_however_they_are_made() {
    let server = ToolServer::start();
    let (root, outside) = (server.root(), server.dir().outside());
    fs::create_dir(root.join("sub")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    for (link, target) in [
        ("relative", "../outside"),
        ("sub/deeper", "../../outside"),
        ("chain-1", "absolute"),
        ("chain-2", "chain-1"),
        ("chain-3", "sub/../chain-2"),
        ("parent", ".."),
        ("all", "/"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let links = ["absolute", "relative", "sub/deeper", "chain-1", "chain-2", "chain-3", "all"];
    let below = ["parent/outside", "all/etc", "absolute/.", "absolute/..", "relative/../outside"];
    for path in links.into_iter().chain(below) {
        assert_eq!(ls(&server, path).error_code(), Some(ErrorCode::PathOutsideRoots), "{path}");
    }
}

#[test]
fn links_through_proc_are_refused() {
    let server = ToolServer::start();
    let (root, outside) = (server.root(), server.dir().outside());
    for (link, target) in [("root", "self/root"), ("cwd", "self/cwd"), ("fd", "self/fd"), ("init", "1/root")]
    {
        symlink(format!("/proc/{target}"), root.join(format!("magic-{link}"))).unwrap();
    }
    let below = format!("magic-root{}", outside.display());
    for path in
        [&below, "magic-root", "magic-cwd", "magic-cwd/../outside", "magic-fd", "magic-fd/0", "magic-init"]
    {
        let envelope = ls(&server, path);
        let class = envelope.meta.error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::Policy), "{path}: {envelope:?}");
    }
}

#[test]
fn links_that_stay_inside_are_followed_absolute_ones_too() {
    let server = ToolServer::start();
    let root = server.root();
    fs::create_dir_all(root.join("real/deep")).unwrap();
    fs::write(root.join("real/deep/file"), "x").unwrap();
    symlink(root.join("real"), root.join("absolute")).unwrap();
    symlink("real/deep", root.join("relative")).unwrap();
    symlink("../../real", root.join("real/deep/back")).unwrap();
    symlink("absolute/deep", root.join("chain")).unwrap();
    for path in ["absolute/deep", "relative", "chain", "real/deep/back/deep", "real/../absolute/../relative"]
    {
        let envelope = server.call("ls", &json!({"path": path}));
        assert!(envelope.ok, "{path}: {envelope:?}");
        assert!(envelope.stdout.contains("file\n"), "{path}: {}", envelope.stdout);
    }
}

#[test]
fn loops_and_dangling_links_end_at_once() {
    let server = ToolServer::start();
    let root = server.root();
    symlink("loop-b", root.join("loop-a")).unwrap();
    symlink("loop-a", root.join("loop-b")).unwrap();
    symlink(".", root.join("self")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    assert!(ls(&server, "loop-a").error_code().is_some());
    assert_eq!(ls(&server, "dangling").error_code(), Some(ErrorCode::NotFound));
    let listing = ls(&server, ".");
    assert!(listing.ok, "{listing:?}");
    assert_eq!(listing.stdout.lines().count(), 4, "a walk does not follow links: {}", listing.stdout);
    assert!(server.call("ls", &json!({"path": "self/self/self"})).ok);
}

#[test]
fn a_root_that_is_replaced_by_a_link_after_the_start_stays_the_directory_it_was() {
    let server = ToolServer::start();
    let (root, outside) = (server.root(), server.dir().outside());
    let moved = root.with_file_name("root-moved");
    fs::write(root.join("inside.txt"), "x").unwrap();
    fs::rename(&root, &moved).unwrap();
    symlink(&outside, &root).unwrap();
    let by_name = ls(&server, &root.display().to_string());
    let by_dot = ls(&server, ".");
    fs::remove_file(&root).unwrap();
    fs::rename(&moved, &root).unwrap();
    for envelope in [by_name, by_dot] {
        assert!(!envelope.ok || envelope.stdout == "inside.txt\n", "{envelope:?}");
    }
}

#[test]
fn odd_paths_are_refused_or_stay_inside() {
    let server = ToolServer::start();
    let (root, outside) = (server.root(), server.dir().outside());
    let evil = root.with_file_name("root-evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join(OUTSIDE_NAME), "x").unwrap();
    let refused = [
        evil.display().to_string(),
        outside.display().to_string(),
        format!("{}/../outside", root.display()),
        format!("{}/./x/.././../outside", root.display()),
        format!("//{}", outside.display()),
        format!("/proc/self/root{}", outside.display()),
        format!("/dev/fd/../..{}", outside.display()),
        format!("file://{}", outside.display()),
        "~".to_owned(),
        "$HOME".to_owned(),
        "..%2foutside".to_owned(),
        "..\\outside".to_owned(),
        "..".to_owned(),
        "a/".repeat(3000),
        "x".repeat(300),
        String::new(),
    ];
    for path in refused {
        let envelope = ls(&server, &path);
        assert!(envelope.error_code().is_some(), "{path}: {envelope:?}");
    }
    for path in [".", "./", "././/.", &format!("{}/", root.display())] {
        assert!(ls(&server, path).ok, "{path}");
    }
    fs::remove_dir_all(evil).unwrap();
}

#[test]
fn special_files_are_listed_with_their_type_and_never_opened() {
    let server = ToolServer::start();
    let root = server.root();
    make_fifo(&root);
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("/dev/tty", root.join("tty")).unwrap();
    let listing = ls(&server, ".");
    assert_eq!(listing.stdout, "fifo\nsocket\ntty\nzero\n");
    for (name, expected) in [
        ("fifo", ErrorCode::NotADirectory),
        ("socket", ErrorCode::NotADirectory),
        ("zero", ErrorCode::PathOutsideRoots),
        ("tty", ErrorCode::PathOutsideRoots),
    ] {
        assert_eq!(ls(&server, name).error_code(), Some(expected), "{name}");
    }
}

#[test]
fn odd_names_come_back_escaped_and_are_accepted_in_that_form() {
    let server = ToolServer::start();
    let names: [&[u8]; 7] = [
        b"a\nb",
        b"\x1b[31mred",
        b"\xff\xfe",
        b"-rf",
        "\u{202e}gpj.exe".as_bytes(),
        b"tab\tname",
        b"back\\slash",
    ];
    for name in names {
        let directory = server.root().join(OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("found"), "x").unwrap();
    }
    let listing = server.call("ls", &json!({"path": "."}));
    assert_eq!(listing.stdout.lines().count(), names.len(), "{:?}", listing.stdout);
    let odd = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!listing.stdout.contains(odd), "{:?}", listing.stdout);
    for shown in listing.stdout.lines() {
        let inside = server.call("ls", &json!({"path": shown}));
        assert_eq!(inside.stdout, "found\n", "{shown:?} is not accepted back: {inside:?}");
    }
}
