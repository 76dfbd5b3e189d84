//! A directory that is swapped with a link outside while it is searched: not one search leaks.
//!
//! The server runs in the test's own process, without any kernel's confinement, so that it is the walk
//! alone that holds.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::TestServer;
use crate::support::tree::make;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

const CALLS: usize = 1000;

/// Searches while the directory `swapped` and the link `link` change places.
async fn race(tool: &str, questions: &[Value]) {
    let server = TestServer::holding(&[("swapped/below/inside.txt", "INSIDE")]).await;
    let outside = tempfile::tempdir().unwrap();
    make(outside.path(), &[("below/secret.txt", "SECRET"), ("below/inside.txt", "SECRET")]);
    symlink(outside.path(), server.root.join("link")).unwrap();

    let (one, other) = (server.root.join("swapped"), server.root.join("link"));
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let swapping = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        }
    });
    let mut found = 0;
    for call in 0..CALLS {
        let envelope = server.call(tool, questions[call % questions.len()].clone()).await;
        let said = format!("{}{}{}", envelope.stdout, envelope.stderr, envelope.meta.data);
        assert!(!said.contains("secret.txt") && !said.contains("SECRET"), "call {call}: {said}");
        found += usize::from(said.contains("inside.txt"));
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(found > CALLS / 20, "the tool finds what is inside while it is there: {found} of {CALLS}");
}

#[tokio::test]
async fn find_shows_nothing_outside_in_a_rename_race() {
    race("find", &[json!({}), json!({"path": "swapped"}), json!({"path": "swapped/below"})]).await;
}

#[tokio::test]
async fn grep_shows_nothing_outside_in_a_rename_race() {
    let questions = [
        json!({"pattern": "SECRET|INSIDE"}),
        json!({"pattern": "SECRET|INSIDE", "path": "swapped"}),
        json!({"pattern": "SECRET|INSIDE", "path": "swapped/below/inside.txt"}),
    ];
    race("grep", &questions).await;
}
