//! `find` as a caller sees it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::support::tree::{all_pages, code, lines, make, make_fifo, make_random, shown};
use crate::support::{Settings, TestServer};
use proptest::prelude::*;
use protocol::{ErrorCode, Status};
use serde_json::json;
use tool_server::search::SearchLimits;
use toolkit::Bounds;

const TREE: &[(&str, &str)] =
    &[("a.rs", ""), ("src/b.rs", ""), ("src/deep/c.rs", ""), ("src/deep/c.md", ""), ("src.d/x", "")];

#[tokio::test]
async fn everything_is_found_sorted_by_path_with_its_type() {
    let server = TestServer::holding(TREE).await;
    symlink("/nowhere", server.root.join("link")).unwrap();
    let envelope = server.call("find", json!({})).await;
    let sorted = "a.rs link src.d/ src.d/x src/ src/b.rs src/deep/ src/deep/c.md src/deep/c.rs";
    assert_eq!(lines(&envelope), sorted.split(' ').collect::<Vec<_>>());
    let entries = &envelope.meta.data["entries"];
    assert_eq!(entries[0], json!({"path": "a.rs", "type": "file"}));
    assert_eq!(entries[1], json!({"path": "link", "type": "symlink"}));
    assert_eq!(entries[2], json!({"path": "src.d", "type": "dir"}));
    assert_eq!(envelope.meta.status, Status::Success);
    assert_eq!(envelope.meta.notices, Vec::<String>::new());
}

#[tokio::test]
async fn names_types_and_depth_narrow_the_result() {
    let server = TestServer::holding(TREE).await;
    for (arguments, expected) in [
        (json!({"name_pattern": "*.rs"}), vec!["a.rs", "src/b.rs", "src/deep/c.rs"]),
        (json!({"name_pattern": "src/*.rs"}), vec!["src/b.rs"]),
        (json!({"name_pattern": "**/deep/*"}), vec!["src/deep/c.md", "src/deep/c.rs"]),
        (json!({"name_pattern": "c.{md,txt}"}), vec!["src/deep/c.md"]),
        (json!({"type": "dir"}), vec!["src.d/", "src/", "src/deep/"]),
        (json!({"type": "file", "max_depth": 1}), vec!["a.rs"]),
        (json!({"max_depth": 2, "name_pattern": "*e*"}), vec!["src/deep/"]),
        (json!({"path": "src", "max_depth": 1}), vec!["src/b.rs", "src/deep/"]),
        (json!({"path": "src/deep", "name_pattern": "*.md"}), vec!["src/deep/c.md"]),
        (json!({"name_pattern": "absent"}), vec![]),
    ] {
        assert_eq!(shown(&server, "find", arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn every_path_found_can_be_passed_back() {
    let tree = [("d/new\nline/x", ""), ("d/back\\slash/x", ""), ("d/\u{202e}rtl/x", "")];
    let server = TestServer::holding(&tree).await;
    fs::create_dir(server.root.join(OsStr::from_bytes(b"d/\xff\xfe"))).unwrap();
    let found = shown(&server, "find", json!({"path": "d", "type": "dir"})).await;
    assert_eq!(found.len(), 4);
    for path in found {
        assert!(server.call("ls", json!({"path": path})).await.ok, "{path}");
    }
}

#[tokio::test]
async fn paths_outside_the_first_root_are_absolute() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let roots = vec![first.path().to_owned(), second.path().to_owned()];
    let server = TestServer::with(Settings { roots, ..Settings::default() }).await;
    make(second.path(), &[("sub/x", "")]);
    let second = second.path().to_str().unwrap();
    let found = shown(&server, "find", json!({"path": second, "type": "file"})).await;
    assert_eq!(found, [format!("{second}/sub/x")]);
    assert_eq!(shown(&server, "find", json!({"path": format!("{second}/sub")})).await, found);
}

#[tokio::test]
async fn hidden_and_ignored_entries_are_counted_and_found_on_request() {
    let tree =
        [(".git/config", ""), (".gitignore", "*.log\n/build/\n"), ("a.log", ""), ("build/x", ""), ("b", "")];
    let server = TestServer::holding(&tree).await;
    let envelope = server.call("find", json!({})).await;
    assert_eq!(lines(&envelope), ["b"]);
    let notices = [
        "Skipped 2 hidden entries and what is below; set include_hidden to include hidden names.",
        "Skipped 2 ignored entries and what is below; set include_ignored to include ignored names.",
    ];
    assert_eq!(envelope.meta.notices, notices);
    let found = shown(&server, "find", json!({"include_ignored": true})).await;
    assert_eq!(found, ["a.log", "b", "build/", "build/x"]);
    let found = shown(&server, "find", json!({"include_hidden": true})).await;
    assert_eq!(found, [".git/", ".git/config", ".gitignore", "b"]);
}

#[tokio::test]
async fn ignore_files_above_the_directory_apply_and_those_of_git_only_in_a_repository() {
    let tree = [
        ("repo/.git/info/exclude", "excluded\n"),
        ("repo/.gitignore", "*.log\n"),
        ("repo/src/.gitignore", "!kept.log\n"),
        ("repo/src/excluded", ""),
        ("repo/src/a.log", ""),
        ("repo/src/kept.log", ""),
        ("plain/.gitignore", "*.log\n"),
        ("plain/.ignore", "*.tmp\n"),
        ("plain/a.log", ""),
        ("plain/a.tmp", ""),
    ];
    let server = TestServer::holding(&tree).await;
    assert_eq!(shown(&server, "find", json!({"path": "repo/src"})).await, ["repo/src/kept.log"]);
    assert_eq!(shown(&server, "find", json!({"path": "plain"})).await, ["plain/a.log"]);
}

#[tokio::test]
async fn an_ignore_file_that_is_a_link_or_a_pipe_is_not_read() {
    let server = TestServer::holding(&[("a/x", ""), ("b/x", "")]).await;
    fs::write(server.root.parent().unwrap().join("outside"), "x\n").unwrap();
    symlink("../../outside", server.root.join("a/.ignore")).unwrap();
    make_fifo(&server.root.join("b/.ignore"));
    assert_eq!(shown(&server, "find", json!({"type": "file"})).await, ["a/x", "b/x"]);
}

#[tokio::test]
async fn denied_paths_are_neither_found_nor_counted() {
    let tree = [(".env", ""), ("a/server.pem", ""), ("a/.ssh/config", ""), ("a/id_rsa_2", ""), ("b", "")];
    let server = TestServer::holding(&tree).await;
    let envelope = server.call("find", json!({"include_hidden": true})).await;
    assert_eq!(lines(&envelope), ["a/", "b"]);
    assert_eq!(envelope.meta.notices, ["Skipped names that AUTONOUS_TOOL_DENY_PATHS denies."]);
}

#[tokio::test]
async fn links_are_found_and_never_followed() {
    let server = TestServer::holding(&[("dir/x", "")]).await;
    symlink("dir", server.root.join("inside")).unwrap();
    symlink("/etc", server.root.join("outside")).unwrap();
    symlink(".", server.root.join("dir/loop")).unwrap();
    let found = shown(&server, "find", json!({})).await;
    assert_eq!(found, ["dir/", "dir/loop", "dir/x", "inside", "outside"]);
    assert_eq!(code(&server.call("find", json!({"path": "outside"})).await), ErrorCode::PathOutsideRoots);
    assert_eq!(code(&server.call("find", json!({"path": "dir/x"})).await), ErrorCode::NotADirectory);
}

#[tokio::test]
async fn an_invalid_glob_is_refused_and_a_name_may_look_like_an_option() {
    let server = TestServer::holding(&[("-x", ""), ("--exec=sh", "")]).await;
    let refused = server.call("find", json!({"name_pattern": "a[b"})).await;
    assert_eq!(code(&refused), ErrorCode::InvalidArgument);
    assert!(refused.stderr.contains("unclosed character class"), "{}", refused.stderr);
    assert_eq!(code(&server.call("find", json!({"name_pattern": ""})).await), ErrorCode::InvalidArgument);
    assert_eq!(shown(&server, "find", json!({"name_pattern": "-*"})).await, ["--exec=sh", "-x"]);
    assert_eq!(shown(&server, "find", json!({"name_pattern": "../*"})).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_ends_at_its_limit_and_says_how_to_continue() {
    let server = TestServer::holding(TREE).await;
    let page = server.call("find", json!({"limit": 2})).await;
    assert_eq!((lines(&page), page.meta.status), (vec!["a.rs", "src.d/"], Status::Partial));
    assert!(page.meta.notices[0].contains("`cursor`"), "{:?}", page.meta.notices);
    let other = json!({"limit": 2, "cursor": page.next_page_cursor, "type": "file"});
    assert_eq!(code(&server.call("find", other).await), ErrorCode::InvalidArgument);
    let bounds = Bounds { lines: 3, bytes: 51_200 };
    let server = TestServer::with(Settings { bounds, ..Settings::default() }).await;
    make(&server.root, TREE);
    let page = server.call("find", json!({})).await;
    assert_eq!((lines(&page).len(), page.truncated_lines, page.next_page_cursor.is_some()), (3, true, true));
}

#[tokio::test]
async fn a_search_that_visits_too_many_entries_returns_what_it_found() {
    for (tool, arguments, limit, files) in
        [("find", json!({}), 10, 50), ("grep", json!({"pattern": "x"}), 5, 20)]
    {
        let search = SearchLimits::new(limit);
        let server = TestServer::with(Settings { search, ..Settings::default() }).await;
        let names: Vec<String> = (0..files).map(|number| format!("{number:02}")).collect();
        make(&server.root, &names.iter().map(|name| (name.as_str(), "x")).collect::<Vec<_>>());
        let envelope = server.call(tool, arguments).await;
        let shown = u64::try_from(lines(&envelope).len()).unwrap();
        assert_eq!((shown, envelope.meta.status), (limit, Status::Partial));
        assert_eq!(envelope.meta.data["aborted_reason"], "count_limit", "{tool}");
        assert_eq!(envelope.next_page_cursor, None, "{tool}");
        assert!(envelope.stderr.contains("AUTONOUS_TOOL_SEARCH_MAX_ENTRIES"), "{}", envelope.stderr);
    }
}

#[tokio::test]
async fn directories_that_are_too_deep_are_reported() {
    let server = TestServer::start().await;
    let (near, far) = (format!("{}near", "d/".repeat(300)), format!("{}far", "d/".repeat(450)));
    make(&server.root, &[(&near, ""), (&far, "")]);
    let envelope = server.call("find", json!({"type": "file"})).await;
    assert_eq!((lines(&envelope), envelope.meta.status), (vec![near.as_str()], Status::Partial));
    assert!(envelope.stderr.contains("400 levels"), "{}", envelope.stderr);
    fs::remove_dir_all(server.root.join("d")).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_joined_are_the_whole_result(
        paths in prop::collection::btree_set("[ab0.-]{1,3}(/[ab0.-]{1,3}){0,3}", 1..40),
        limit in 1_usize..7,
    ) {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = TestServer::start().await;
            make_random(&server.root, paths.iter().map(|path| (path.as_str(), "")));
            let all = json!({"include_hidden": true});
            let listed = all_pages(&server, "ls", json!({"include_hidden": true, "recursive": true})).await;
            prop_assert_eq!(&shown(&server, "find", all).await, &listed);
            let paged = json!({"include_hidden": true, "limit": limit});
            prop_assert_eq!(all_pages(&server, "find", paged).await, listed);
            let whole = shown(&server, "find", json!({"name_pattern": "*a*", "type": "file"})).await;
            let paged = json!({"name_pattern": "*a*", "type": "file", "limit": limit});
            prop_assert_eq!(all_pages(&server, "find", paged).await, whole);
            Ok(())
        })?;
    }
}
