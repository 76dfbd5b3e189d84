//! `grep` as a caller sees it.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::time::Duration;

use crate::support::tree::{all_pages, code, lines, make, make_fifo, make_random, shown};
use crate::support::{Settings, TestServer};
use proptest::prelude::*;
use protocol::{ErrorCode, Status};
use serde_json::{Value, json};
use toolkit::Bounds;

const TREE: &[(&str, &str)] = &[
    ("a.rs", "fn one() {}\nfn two() {}\n"),
    ("src/b.rs", "// one\n\nfn three() {\n    one();\n}\n"),
    ("src/c.md", "One and two.\n"),
];

#[tokio::test]
async fn matching_lines_are_shown_sorted_with_their_data() {
    let server = TestServer::holding(TREE).await;
    let envelope = server.call("grep", json!({"pattern": "one"})).await;
    assert_eq!(lines(&envelope), ["a.rs:1:fn one() {}", "src/b.rs:1:// one", "src/b.rs:4:    one();"]);
    let last = json!({"path": "src/b.rs", "line": 4, "column": 5, "text": "    one();"});
    assert_eq!(envelope.meta.data["matches"][2], last);
    assert_eq!(envelope.meta.status, Status::Success);
    assert_eq!(envelope.meta.notices, Vec::<String>::new());
}

#[tokio::test]
async fn options_change_what_matches_and_what_is_shown() {
    let server = TestServer::holding(TREE).await;
    for (arguments, expected) in [
        (json!({"pattern": "one", "case_sensitive": false, "glob": "*.md"}), vec!["src/c.md:1:One and two."]),
        (
            json!({"pattern": "e()", "literal": true}),
            vec!["a.rs:1:fn one() {}", "src/b.rs:3:fn three() {", "src/b.rs:4:    one();"],
        ),
        (json!({"pattern": "^fn \\w+\\(\\) \\{$"}), vec!["src/b.rs:3:fn three() {"]),
        (json!({"pattern": "two", "output": "files"}), vec!["a.rs", "src/c.md"]),
        (json!({"pattern": "one", "output": "count"}), vec!["a.rs:1", "src/b.rs:2"]),
        (json!({"pattern": "one", "path": "src"}), vec!["src/b.rs:1:// one", "src/b.rs:4:    one();"]),
        (
            json!({"pattern": "one", "path": "src/b.rs", "glob": "*.md"}),
            vec!["src/b.rs:1:// one", "src/b.rs:4:    one();"],
        ),
        (json!({"pattern": "two", "glob": "src/*"}), vec!["src/c.md:1:One and two."]),
        (json!({"pattern": "absent"}), vec![]),
    ] {
        assert_eq!(shown(&server, "grep", arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn context_lines_are_marked_and_never_shown_twice() {
    let server = TestServer::holding(&[("f", "1\n2 x\n3\n4 x\n5\n6\n7\n8 x\n")]).await;
    let envelope = server.call("grep", json!({"pattern": "x", "context": 1})).await;
    let whole = ["f-1-1", "f:2:2 x", "f-3-3", "f:4:4 x", "f-5-5", "f-7-7", "f:8:8 x"];
    assert_eq!(lines(&envelope), whole);
    assert_eq!(envelope.meta.data["matches"].as_array().unwrap().len(), 3);
    assert_eq!(envelope.meta.data["context_lines"][1], json!({"path": "f", "line": 3, "text": "3"}));
    let first = server.call("grep", json!({"pattern": "x", "context": 1, "limit": 2})).await;
    assert_eq!(lines(&first), whole[..5]);
    assert_eq!(all_pages(&server, "grep", json!({"pattern": "x", "context": 1, "limit": 1})).await, whole);
}

#[tokio::test]
async fn an_invalid_pattern_is_refused_with_the_position_of_its_fault() {
    let server = TestServer::holding(&[("f", "foo(bar --pre=sh\n")]).await;
    let refused = server.call("grep", json!({"pattern": "foo(bar"})).await;
    assert_eq!(code(&refused), ErrorCode::InvalidArgument);
    assert!(refused.stderr.contains("    foo(bar\n       ^\n"), "{}", refused.stderr);
    assert!(refused.stderr.contains("literal: true"), "{}", refused.stderr);
    for arguments in [
        json!({"pattern": ""}),
        json!({"pattern": "a", "glob": "a[b"}),
        json!({"pattern": "(?:a{1,1000}){1,1000}"}),
        json!({"pattern": "a\nb", "literal": true}),
        json!({"pattern": "a", "output": "lines"}),
    ] {
        let refused = server.call("grep", arguments.clone()).await;
        assert_eq!(code(&refused), ErrorCode::InvalidArgument, "{arguments}");
    }
    assert_eq!(shown(&server, "grep", json!({"pattern": "--pre=sh"})).await.len(), 1);
    assert_eq!(shown(&server, "grep", json!({"pattern": "foo(bar", "literal": true})).await.len(), 1);
}

#[tokio::test]
async fn hidden_ignored_denied_and_binary_files_are_skipped_and_reported() {
    let tree = [
        (".hidden", "x"),
        (".ignore", "*.log\n"),
        ("a.log", "x"),
        ("binary", "x\n\0x\n"),
        (".env", "x"),
        ("key.pem", "x"),
        ("plain", "x"),
    ];
    let server = TestServer::holding(&tree).await;
    let envelope = server.call("grep", json!({"pattern": "x"})).await;
    assert_eq!(lines(&envelope), ["plain:1:x"]);
    let notices = [
        "Skipped 2 hidden entries and what is below; set include_hidden to include hidden names.",
        "Skipped 1 ignored entry and what is below; set include_ignored to include ignored names.",
        "Skipped names that AUTONOUS_TOOL_DENY_PATHS denies.",
        "Skipped 1 binary file.",
    ];
    assert_eq!(envelope.meta.notices, notices);
    let all = json!({"pattern": "x", "include_hidden": true, "include_ignored": true, "output": "files"});
    assert_eq!(shown(&server, "grep", all).await, [".hidden", "a.log", "plain"]);
    for path in ["key.pem", ".env"] {
        let refused = server.call("grep", json!({"pattern": "x", "path": path})).await;
        assert_eq!(code(&refused), ErrorCode::PathDenied);
    }
}

#[tokio::test]
async fn links_and_special_files_are_not_searched() {
    let server = TestServer::holding(&[("dir/f", "x")]).await;
    symlink("dir/f", server.root.join("inside")).unwrap();
    symlink("/etc/passwd", server.root.join("outside")).unwrap();
    symlink("/dev/zero", server.root.join("zero")).unwrap();
    make_fifo(&server.root.join("pipe"));
    assert_eq!(shown(&server, "grep", json!({"pattern": "."})).await, ["dir/f:1:x"]);
    assert_eq!(shown(&server, "grep", json!({"pattern": ".", "path": "inside"})).await, ["dir/f:1:x"]);
    for (path, expected) in [
        ("outside", ErrorCode::PathOutsideRoots),
        ("zero", ErrorCode::PathOutsideRoots),
        ("pipe", ErrorCode::NotARegularFile),
        ("absent", ErrorCode::NotFound),
    ] {
        let envelope = server.call("grep", json!({"pattern": ".", "path": path})).await;
        assert_eq!(code(&envelope), expected, "{path}");
    }
}

#[tokio::test]
async fn other_encodings_are_searched() {
    let server = TestServer::start().await;
    let utf16 = |order: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        let text: Vec<u8> = "eins\r\nzwei é\r\n".encode_utf16().flat_map(order).collect();
        [mark.as_slice(), &text].concat()
    };
    fs::write(server.root.join("be"), utf16(u16::to_be_bytes, [0xfe, 0xff])).unwrap();
    fs::write(server.root.join("le"), utf16(u16::to_le_bytes, [0xff, 0xfe])).unwrap();
    fs::write(server.root.join("latin1"), b"zwei \xe9\n").unwrap();
    fs::write(server.root.join("crlf"), "zwei\r\n").unwrap();
    let envelope = server.call("grep", json!({"pattern": "zwei"})).await;
    assert_eq!(lines(&envelope), ["be:2:zwei é", "crlf:1:zwei", "latin1:1:zwei \u{fffd}", "le:2:zwei é"]);
    assert_eq!(envelope.meta.notices, ["Bytes that are not UTF-8 are shown as \u{fffd}."]);
    assert_eq!(shown(&server, "grep", json!({"pattern": "zwei$"})).await, ["crlf:1:zwei"]);
}

#[tokio::test]
async fn a_long_line_is_cut_around_its_match() {
    let line = format!("{}needle{}\n", "é".repeat(5000), "é".repeat(5000));
    let server = TestServer::holding(&[("f", &line)]).await;
    let envelope = server.call("grep", json!({"pattern": "needle"})).await;
    let text = envelope.meta.data["matches"][0]["text"].as_str().unwrap();
    assert!(text.contains("needle") && text.starts_with('…') && text.ends_with('…'));
    assert_eq!(text.chars().count(), 502);
    assert_eq!(envelope.meta.data["matches"][0]["column"], 10_001);
    assert!(envelope.stderr.contains("Lines over 500 characters are cut"), "{}", envelope.stderr);
}

#[tokio::test]
async fn a_line_too_long_for_memory_ends_the_search_of_its_file_and_is_reported() {
    let server = TestServer::start().await;
    let mut file = File::create(server.root.join("f")).unwrap();
    file.write_all(b"x before\n").unwrap();
    file.write_all(&vec![b'a'; 20 << 20]).unwrap();
    file.write_all(b"\nx after\n").unwrap();
    let envelope = server.call("grep", json!({"pattern": "x"})).await;
    assert_eq!((lines(&envelope), envelope.meta.status), (vec!["f:1:x before"], Status::Partial));
    assert_eq!(envelope.meta.notices, ["Searched only up to a line over 8 MiB (1): \"f\"."]);
}

#[tokio::test]
async fn a_large_sparse_file_is_answered_at_once() {
    let server = TestServer::start().await;
    File::create(server.root.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let envelope = server.call("grep", json!({"pattern": "x", "path": "sparse"})).await;
    assert!(envelope.ok, "{}", envelope.stderr);
    assert_eq!(envelope.meta.notices, ["Skipped 1 binary file."]);
}

#[tokio::test]
async fn a_search_that_runs_out_of_time_returns_what_it_found() {
    let timeout = Duration::from_secs(3);
    let server = TestServer::with(Settings { timeout, ..Settings::default() }).await;
    let text = format!("start\n{}", "text and more text, and nothing that matches\n".repeat(100_000));
    fs::write(server.root.join("0"), text).unwrap();
    // One file of 4 MB under so many names is more than any machine searches in that time.
    (1..5000).for_each(|number| {
        fs::hard_link(server.root.join("0"), server.root.join(number.to_string())).unwrap();
    });
    let envelope =
        server.call("grep", json!({"pattern": "start|[a-z ]+,[a-z ]+[0-9]+", "limit": 2000})).await;
    assert_eq!((envelope.ok, envelope.meta.status), (true, Status::Partial), "{}", envelope.stderr);
    assert_eq!(envelope.meta.data["aborted_reason"], "time_limit");
    assert!(!lines(&envelope).is_empty() && envelope.next_page_cursor.is_none());
    assert!(envelope.stderr.contains("its time ran out"), "{}", envelope.stderr);
}

#[tokio::test]
async fn a_page_ends_at_its_limit_and_at_the_bounds_of_an_answer() {
    let bounds = Bounds { lines: 4, bytes: 60 };
    let server = TestServer::with(Settings { bounds, ..Settings::default() }).await;
    make(&server.root, &[("a", "x\nx\nx\n"), ("b", "x\nx\nx\n")]);
    let page = server.call("grep", json!({"pattern": "x", "limit": 2})).await;
    assert_eq!((lines(&page), page.meta.status), (vec!["a:1:x", "a:2:x"], Status::Partial));
    let notice = &page.meta.notices[0];
    assert!(notice.starts_with("Showing 2 matching lines (the limit); there is more."), "{notice}");
    let page = server.call("grep", json!({"pattern": "x"})).await;
    assert_eq!((lines(&page).len(), page.truncated_lines, page.truncated_bytes), (4, true, false));
    let other = json!({"pattern": "y", "cursor": page.next_page_cursor});
    assert_eq!(code(&server.call("grep", other).await), ErrorCode::InvalidArgument);
    make(&server.root, &[("a", &format!("x{}\nx{}\n", "-".repeat(40), "-".repeat(40)))]);
    let page = server.call("grep", json!({"pattern": "x"})).await;
    assert_eq!((lines(&page).len(), page.truncated_lines, page.truncated_bytes), (1, false, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_joined_are_the_whole_result(
        files in prop::collection::btree_map("[ab.-]{1,2}(/[abc]{1,2}){0,2}", "([xy ]{0,3}\n){0,12}", 1..12),
        limit in 1_usize..6,
        context in 0_usize..3,
    ) {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = TestServer::start().await;
            make_random(&server.root, files.iter().map(|(path, content)| (path.as_str(), content.as_str())));
            for output in ["content", "files", "count"] {
                let mut arguments = json!({"pattern": "x", "context": context, "output": output});
                let whole = shown(&server, "grep", arguments.clone()).await;
                arguments["limit"] = Value::from(limit);
                prop_assert_eq!(all_pages(&server, "grep", arguments).await, whole);
            }
            Ok(())
        })?;
    }
}
