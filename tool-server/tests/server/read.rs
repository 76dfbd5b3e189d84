//! `read` as a caller sees it.

use std::fs;
use std::io::Write as _;

use crate::support::tree::code;
use crate::support::{Settings, TestServer};
use base64::Engine as _;
use proptest::prelude::*;
use protocol::{Envelope, ErrorCode, Status};
use serde_json::{Value, json};
use toolkit::Bounds;

async fn read(content: impl AsRef<[u8]>, mut arguments: Value) -> Envelope {
    let server = TestServer::start().await;
    fs::write(server.root.join("f"), content).unwrap();
    arguments["path"] = json!("f");
    server.call("read", arguments).await
}

fn numbered(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("line {number}\n")).collect()
}

#[tokio::test]
async fn lines_are_numbered_and_the_file_is_described() {
    let shown = read("one\ntwo\n", json!({})).await;
    assert_eq!(shown.stdout, "1\tone\n2\ttwo\n");
    let data = &shown.meta.data;
    assert_eq!((&data["total_lines"], &data["file_size_bytes"]), (&json!(2), &json!(8)));
    assert_eq!(data["sha256"], "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8");
    assert!(data["file_mtime_ms"].as_i64().unwrap() > 1_600_000_000_000);
    assert_eq!(read("one\ntwo", json!({"line_numbers": false})).await.stdout, "one\ntwo\n");
}

#[tokio::test]
async fn a_page_says_what_it_shows_and_what_comes_next() {
    let page = read(numbered(1..=8123), json!({})).await;
    assert_eq!(page.meta.notices, ["Showing lines 1–500 of 8123; next: start_line 501."]);
    assert_eq!(page.meta.status, Status::Partial);
    let page = read(numbered(1..=20), json!({"start_line": 19, "limit": 5})).await;
    assert_eq!(page.stdout, "19\tline 19\n20\tline 20\n");
    assert_eq!(page.next_page_cursor, None);
}

#[tokio::test]
async fn a_start_beyond_the_end_says_the_valid_range() {
    let error = read(numbered(1..=3), json!({"start_line": 9})).await;
    assert_eq!(code(&error), ErrorCode::InvalidArgument);
    assert!(error.stderr.contains("it has lines 1 to 3"), "{}", error.stderr);
    let error = read("abc", json!({"offset": 9})).await;
    assert!(error.stderr.contains("the file has 3 bytes"), "{}", error.stderr);
}

#[tokio::test]
async fn an_empty_file_is_not_an_error() {
    let shown = read("", json!({})).await;
    assert_eq!((shown.ok, shown.stdout.as_str()), (true, ""));
    assert_eq!(shown.meta.notices, ["The file is empty."]);
}

#[tokio::test]
async fn other_encodings_are_decoded_and_named() {
    let check = async |bytes: &[u8], text: &str, encoding: &str| {
        let shown = read(bytes, json!({"line_numbers": false})).await;
        assert_eq!(shown.stdout, text);
        assert_eq!(shown.meta.data["encoding"], encoding);
        assert!(shown.stderr.contains(encoding), "{}", shown.stderr);
    };
    check(b"\xff\xfea\0\n\0\xe9\0", "a\né\n", "utf-16le").await;
    check(b"\xfe\xff\0a\0\n\0\xe9", "a\né\n", "utf-16be").await;
    check(b"caf\xe9\n", "café\n", "latin-1").await;
    check(b"\xef\xbb\xbfa\n", "a\n", "utf-8 with byte order mark").await;
}

#[tokio::test]
async fn binary_files_are_refused_with_their_type() {
    let error = read(b"\x7fELF\x02\0", json!({})).await;
    assert_eq!(code(&error), ErrorCode::BinaryFile);
    assert!(error.stderr.contains("an ELF program"), "{}", error.stderr);
    let bytes = read(b"\x7fELF\xff\0", json!({"offset": 1})).await;
    assert_eq!(bytes.stdout, base64::engine::general_purpose::STANDARD.encode(b"ELF\xff\0"));
    assert_eq!(bytes.meta.data["encoding"], "base64");
}

#[tokio::test]
async fn an_image_is_returned_as_base64_with_its_media_type() {
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    let shown = read(image, json!({})).await;
    assert_eq!(shown.meta.data["media_type"], "image/png");
    assert_eq!(shown.meta.data["base64"], base64::engine::general_purpose::STANDARD.encode(image));
}

#[tokio::test]
async fn long_lines_are_cut_with_a_mark() {
    let shown = read(format!("{}\nshort\n", "é".repeat(5000)), json!({})).await;
    let first = shown.stdout.lines().next().unwrap();
    assert!(first.ends_with("é [cut: the line has 10000 bytes]"), "{}", &first[first.len() - 60..]);
    assert_eq!((shown.truncated_bytes, shown.meta.status), (true, Status::Partial));
    assert!(shown.stdout.ends_with("2\tshort\n"));
}

#[tokio::test]
async fn a_private_key_is_hidden_also_where_a_page_or_a_match_enters_it() {
    let body = "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT";
    let key = format!(
        "{}PRIVATE KEY-----\n{}Gx0S\n-----END PRIVATE KEY-----\n",
        "-----BEGIN ",
        format!("{body}\n").repeat(9)
    );
    let large = format!("{}{key}{body}\n", "an ordinary line\n".repeat(100_000));
    let json = format!("{{\"key\": {:?}}}\n", key.repeat(2));
    let tree = [("key.txt", key.as_str()), ("large.txt", &large), ("key.json", &json)];
    let server = TestServer::holding(&tree).await;
    let from = u64::try_from(large.find(body).unwrap() + 50).unwrap();
    for (tool, arguments) in [
        ("read", json!({"path": "key.txt", "start_line": 4})),
        ("read", json!({"path": "key.txt", "start_line": 4, "limit": 2, "line_numbers": false})),
        ("read", json!({"path": "key.txt", "offset": 60, "limit_bytes": 100})),
        ("read", json!({"path": "large.txt", "start_line": 100_004, "limit": 6})),
        ("read", json!({"path": "large.txt", "offset": from, "limit_bytes": 200})),
        ("read", json!({"path": "key.json", "offset": 300, "limit_bytes": 60})),
        ("grep", json!({"pattern": "FAKE6", "path": "key.txt"})),
        ("grep", json!({"pattern": "Gx0S", "context": 2, "path": "key.txt"})),
        ("grep", json!({"pattern": "Gx0S..-----END PRIVATE KEY-----..\"", "path": "key.json"})),
        ("grep", json!({"pattern": "^FAKE6", "path": "large.txt", "limit": 9})),
    ] {
        let answer = server.call(tool, arguments.clone()).await;
        assert!(answer.ok && answer.stdout.contains("***REDACTED***"), "{arguments}: {}", answer.stdout);
        assert!(answer.meta.redacted, "{arguments}");
        let text = serde_json::to_string(&answer).unwrap().replace(&arguments["pattern"].to_string(), "");
        assert!(!text.contains("6Idr96") && !text.contains("Gx0S\\n"), "{arguments}: {text}");
    }
    let after = server.call("grep", json!({"pattern": "^FAKE6", "path": "large.txt"})).await;
    assert_eq!(after.stdout.matches(body).count(), 1, "the line after the key is none of its own");
}

#[tokio::test]
async fn bytes_end_at_a_character_boundary() {
    let page = read("aéé", json!({"offset": 0, "limit_bytes": 2})).await;
    assert_eq!((page.stdout.as_str(), &page.meta.data["bytes"]), ("a", &json!(1)));
    assert!(page.stderr.contains("next: offset 1"), "{}", page.stderr);
    assert_eq!(read("aéé", json!({"offset": 1})).await.stdout, "éé");
    assert_eq!(code(&read("a", json!({"offset": 0, "limit": 1})).await), ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn only_the_shown_part_of_a_large_file_is_read() {
    let server = TestServer::start().await;
    let mut file = fs::File::create(server.root.join("big")).unwrap();
    file.write_all(numbered(1..=10_000).as_bytes()).unwrap();
    file.set_len(5 << 30).unwrap();
    let page = server.call("read", json!({"path": "big", "limit": 2000})).await;
    assert!(page.ok, "{}", page.stderr);
    assert_eq!(page.meta.data["file_size_bytes"], 5_u64 << 30);
    assert_eq!((&page.meta.data["total_lines"], &page.meta.data["sha256"]), (&Value::Null, &Value::Null));
    assert_eq!(page.stdout.lines().count(), 2000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_joined_are_the_whole_file_and_no_cut_splits_a_character(
        text in "([aé日😀\t ]{0,12}\n){0,40}[aé]{0,3}",
        limit in 1_usize..9,
        bytes in 12_usize..200,
    ) {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let settings = Settings { bounds: Bounds { lines: 7, bytes }, ..Settings::default() };
            let server = TestServer::with(settings).await;
            fs::write(server.root.join("f"), &text).unwrap();
            let mut joined = String::new();
            let mut arguments = json!({"path": "f", "limit": limit, "line_numbers": false});
            loop {
                let page = server.call("read", arguments.clone()).await;
                prop_assert!(page.ok, "{}", page.stderr);
                joined.push_str(&page.stdout);
                match page.next_page_cursor {
                    Some(cursor) => arguments["cursor"] = json!(cursor),
                    None => break,
                }
            }
            let is_whole = text.is_empty() || text.ends_with('\n');
            let expected = if is_whole { text.clone() } else { format!("{text}\n") };
            prop_assert_eq!(joined, expected);
            let mut offset = 0;
            let mut by_bytes = String::new();
            while offset < text.len() {
                let arguments = json!({"path": "f", "offset": offset, "limit_bytes": 5});
                let page = server.call("read", arguments).await;
                prop_assert_eq!(&page.meta.data["encoding"], "utf-8");
                by_bytes.push_str(&page.stdout);
                offset += page.stdout.len();
            }
            prop_assert_eq!(by_bytes, text);
            Ok(())
        })?;
    }
}
