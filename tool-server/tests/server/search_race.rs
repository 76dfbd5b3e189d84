//! A directory that is swapped with a link outside while it is listed or searched: nothing outside is shown.
//!
//! The server runs in the test's own process, without any kernel's confinement, so only the walk protects it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use crate::support::TestServer;
use crate::support::tree::make;
use harness::swapping::while_swapping;
use harness::wait;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const CALLS: usize = 1000;

/// Whether checking a path as text and opening it again shows the outside, as it does in this race.
fn a_naive_listing_leaks(root: &Path, path: &Path) -> bool {
    let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(root));
    is_inside && path.join("below/secret.txt").exists()
}

/// Calls a tool while the directory `swapped` and the link `link` change places.
fn race(tool: &str, questions: &[Value]) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(TestServer::holding(&[("swapped/below/inside.txt", "INSIDE")]));
    let outside = tempfile::tempdir().unwrap();
    make(outside.path(), &[("below/secret.txt", "SECRET"), ("below/inside.txt", "SECRET")]);
    let (swapped, link) = (server.root.join("swapped"), server.root.join("link"));
    symlink(outside.path(), &link).unwrap();
    let root = fs::canonicalize(&server.root).unwrap();
    let mut found = 0;
    while_swapping(&swapped, &link, || {
        let give_up = Instant::now() + wait::SOON;
        while !a_naive_listing_leaks(&root, &swapped) {
            assert!(Instant::now() < give_up, "the race does not happen here, so this test proves nothing");
        }
        for call in 0..CALLS {
            let envelope = runtime.block_on(server.call(tool, questions[call % questions.len()].clone()));
            let said = format!("{}{}{}", envelope.stdout, envelope.stderr, envelope.meta.data);
            assert!(!said.contains("secret.txt") && !said.contains("SECRET"), "call {call}: {said}");
            found += usize::from(said.contains("inside.txt"));
        }
    });
    assert!(found > CALLS / 20, "the tool finds what is inside while it is there: {found} of {CALLS}");
}

#[test]
fn ls_shows_nothing_outside_in_a_rename_race() {
    race("ls", &[json!({"recursive": true}), json!({"path": "swapped/below"})]);
}

#[test]
fn find_shows_nothing_outside_in_a_rename_race() {
    race("find", &[json!({}), json!({"path": "swapped"}), json!({"path": "swapped/below"})]);
}

#[test]
fn grep_shows_nothing_outside_in_a_rename_race() {
    let paths = [".", "swapped", "swapped/below/inside.txt"];
    race("grep", &paths.map(|path| json!({"pattern": "SECRET|INSIDE", "path": path})));
}
