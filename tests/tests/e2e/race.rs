//! A directory that is swapped with a link outside while it is listed: not one listing leaks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use harness::ToolServer;
use harness::swapping::while_swapping;
use serde_json::json;

const CALLS: usize = 2000;
const OUTSIDE_NAME: &str = "secret.txt";

/// What a server does that checks a path as a text and then opens it again.
fn checked_then_listed(root: &Path, path: &Path) -> Vec<String> {
    let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
    if !is_inside {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn prepared(server: &ToolServer) -> (PathBuf, PathBuf) {
    let (real, link) = (server.root().join("swapped"), server.root().join("link"));
    fs::create_dir_all(real.join("below")).expect("the place is fresh");
    fs::write(real.join("below/inside.txt"), "x").expect("the place is fresh");
    fs::create_dir(server.dir().outside().join("below")).expect("the place is fresh");
    fs::write(server.dir().outside().join("below").join(OUTSIDE_NAME), "x").expect("the place is fresh");
    symlink(server.dir().outside(), &link).expect("the place is fresh");
    (real, link)
}

#[test]
fn two_thousand_listings_in_a_rename_race_show_nothing_outside_where_a_naive_check_does() {
    let server = ToolServer::start();
    let (real, link) = prepared(&server);
    let root = server.root().canonicalize().unwrap();
    let naive_leaks = while_swapping(&real, &link, || {
        let leaks = |_: &usize| checked_then_listed(&root, &real).iter().any(|name| name == OUTSIDE_NAME);
        (0..20 * CALLS).filter(leaks).count()
    });
    assert!(naive_leaks > 0, "the race does not happen here, so it would prove nothing");

    let mut listed = 0;
    while_swapping(&real, &link, || {
        for call in 0..CALLS {
            let path = if call % 2 == 0 { "swapped" } else { "swapped/below" };
            let recursive = call % 3 == 0;
            let envelope = server.call("ls", &json!({"path": path, "recursive": recursive}));
            let said = format!("{}{}", envelope.stdout, envelope.meta.data);
            assert!(!said.contains(OUTSIDE_NAME), "call {call} shows the outside: {envelope:?}");
            listed += usize::from(envelope.ok);
        }
    });
    println!("naive: {naive_leaks} leaks in {} tries; server: none in {CALLS}, {listed} listed", 20 * CALLS);
    assert!(listed > CALLS / 20, "the server lists the directory while it is there: {listed} of {CALLS}");
}
