//! `ls` as a caller sees it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::tree::{all_pages, lines, make, make_random};
use crate::support::{Settings, TestServer};
use proptest::prelude::*;
use protocol::Status;
use serde_json::{Value, json};
use toolkit::Bounds;

#[tokio::test]
async fn a_directory_is_listed_sorted_with_its_data() {
    let server = TestServer::holding(&[("b.txt", "x"), ("a/", ""), ("a.txt", "x")]).await;
    symlink("/nowhere", server.root.join("link")).unwrap();
    let envelope = server.call("ls", json!({})).await;
    assert_eq!(lines(&envelope), ["a.txt", "a/", "b.txt", "link"]);
    let types: Vec<&Value> =
        envelope.meta.data["entries"].as_array().unwrap().iter().map(|entry| &entry["type"]).collect();
    assert_eq!(types, ["file", "dir", "file", "symlink"]);
    assert_eq!(envelope.meta.data["entries"][0]["size_bytes"], 1);
    assert_eq!(envelope.meta.status, Status::Success);
    assert_eq!(envelope.meta.context.path_resolved.as_deref(), server.root.to_str());
}

#[tokio::test]
async fn a_long_listing_shows_types_sizes_and_times() {
    let server = TestServer::holding(&[("a.txt", "four"), ("b/", "")]).await;
    symlink("/nowhere", server.root.join("c")).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(951_782_400);
    fs::File::options().append(true).open(server.root.join("a.txt")).unwrap().set_modified(time).unwrap();
    let page = server.call("ls", json!({"long": true, "limit": 1})).await;
    assert_eq!(lines(&page), ["file             4 2000-02-29 00:00:00  a.txt"]);
    let next = json!({"long": true, "cursor": page.next_page_cursor});
    let rest = server.call("ls", next).await;
    let [directory, link] = lines(&rest)[..] else { panic!("{}", rest.stdout) };
    assert!(directory.starts_with("dir     ") && directory.ends_with("  b/"), "{directory}");
    assert!(link.starts_with("symlink ") && link.ends_with("  c"), "{link}");
}

#[tokio::test]
async fn hidden_names_are_skipped_and_reported() {
    let server = TestServer::holding(&[(".config", "x"), ("a", "x")]).await;
    let envelope = server.call("ls", json!({})).await;
    assert_eq!(lines(&envelope), ["a"]);
    let notice = "Skipped 1 hidden entry and what is below; set include_hidden to include hidden names.";
    assert_eq!(envelope.meta.notices, [notice]);
    assert_eq!(lines(&server.call("ls", json!({"include_hidden": true})).await), [".config", "a"]);
}

#[tokio::test]
async fn a_page_ends_at_its_limit_and_at_the_bounds_of_an_answer() {
    let bounds = Bounds { lines: 5, bytes: 40 };
    let server = TestServer::with(Settings { bounds, ..Settings::default() }).await;
    make(&server.root, &[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"), ("e", "x"), ("f", "x")]);
    let page = server.call("ls", json!({"limit": 2})).await;
    assert_eq!((lines(&page), page.meta.status), (vec!["a", "b"], Status::Partial));
    assert!(!page.truncated_lines);
    let page = server.call("ls", json!({})).await;
    assert_eq!((lines(&page).len(), page.truncated_lines, page.truncated_bytes), (5, true, false));
    assert!(page.next_page_cursor.is_some());
    make(&server.root, &[("long-name-0123456789", "x"), ("long-name-9876543210", "x")]);
    let page = server.call("ls", json!({"cursor": page.next_page_cursor})).await;
    assert!(page.ok, "a cursor outlives new entries: {}", page.stderr);
    assert_eq!((lines(&page).len(), page.truncated_bytes), (2, true));
}

/// Everything beneath a directory, as a recursive listing shows it.
fn expected(directory: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            expected(&entry.path(), &format!("{name}/"), found);
            found.insert(format!("{name}/"));
        } else {
            found.insert(name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_joined_are_the_whole_sorted_listing(
        paths in prop::collection::btree_set("[ab0.-]{1,3}(/[ab0.-]{1,3}){0,3}", 1..40),
        limit in 1_usize..7,
    ) {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = TestServer::start().await;
            let visible = paths.iter().filter(|path| path.split('/').all(|name| !name.starts_with('.')));
            make_random(&server.root, visible.map(|path| (path.as_str(), "")));
            let mut all = BTreeSet::new();
            expected(&server.root, "", &mut all);
            let all: Vec<String> = all.into_iter().collect();
            let pages = all_pages(&server, "ls", json!({"limit": limit, "recursive": true})).await;
            prop_assert_eq!(pages, all.clone());
            let top: Vec<String> =
                all.into_iter().filter(|path| !path.trim_end_matches('/').contains('/')).collect();
            prop_assert_eq!(all_pages(&server, "ls", json!({"limit": limit})).await, top);
            Ok(())
        })?;
    }
}
