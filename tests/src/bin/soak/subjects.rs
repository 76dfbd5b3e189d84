//! The inputs. Each is created, passed to every tool that could choke on it, and left in place until the end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use protocol::ErrorCode;
use serde_json::json;

use super::query::{Expected, Soak};
use Expected::{Refused, Shows, ShowsOrStops, ShowsOrTimeout, Skips};

/// Lines of 100 bytes in 5 GB.
const HUGE_LINES: usize = 50_000_000;

const BLOCK_LINES: usize = 10_000;

const LINE_BYTES: usize = 200_000_000;

const ENTRIES: usize = 1_000_000;

const LEVELS: usize = 200;

/// A file of 5 GB in lines of 100 bytes; the last line contains `needle`.
pub(crate) fn huge_file(soak: &mut Soak) {
    const WHAT: &str = "file of 5 GB";
    const FILE: &str = "huge/file.txt";
    make_huge_file(&soak.root().join(FILE)).expect("the disk has room for 5 GB");
    let mut ask = |tool, arguments, expected| drop(soak.ask(WHAT, tool, &arguments, expected));
    ask("ls", json!({"path": "huge"}), Shows("file.txt"));
    ask("find", json!({"path": "huge", "name_pattern": "*.txt"}), Shows("file.txt"));
    ask("read", json!({"path": FILE}), Shows("400\tline"));
    ask("read", json!({"path": FILE, "limit": 2000}), Shows("400\tline"));
    ask("read", json!({"path": FILE, "start_line": 1_000_000, "limit": 1}), Shows("1000000\tline"));
    let far = json!({"path": FILE, "start_line": HUGE_LINES, "limit": 1});
    ask("read", far, ShowsOrTimeout("50000000\tneedle"));
    ask("read", json!({"path": FILE, "offset": 4_999_999_900_u64}), Shows("needle"));
    ask("grep", json!({"path": FILE, "pattern": "needle"}), ShowsOrStops("needle"));
    ask("grep", json!({"path": FILE, "pattern": "line", "limit": 5}), Shows(":5:line"));
    ask("grep", json!({"path": FILE, "pattern": "line", "output": "count"}), ShowsOrStops(":"));
    ask("grep", json!({"path": FILE, "pattern": "needle", "output": "files"}), ShowsOrStops("file.txt"));
    ask("edit", json!({"path": FILE, "find": "needle", "replace": "x"}), Refused(ErrorCode::FileTooLarge));
    ask("write", json!({"path": FILE, "content": "one more\n", "mode": "append"}), Shows(""));
    ask("read", json!({"path": FILE, "limit": 1}), Shows("1\tline"));
    ask("write", json!({"path": FILE, "content": "small\n", "dry_run": true}), Shows(""));
    ask("delete", json!({"path": FILE, "dry_run": true}), Shows(""));
    ask("write", json!({"path": FILE, "content": "small\n"}), Shows(""));
}

fn make_huge_file(path: &Path) -> std::io::Result<()> {
    fs::create_dir(path.parent().expect("it is in a directory"))?;
    let block = format!("line {}\n", "x".repeat(94)).repeat(BLOCK_LINES);
    let mut file = File::create(path)?;
    for _ in 0..HUGE_LINES / BLOCK_LINES - 1 {
        file.write_all(block.as_bytes())?;
    }
    file.write_all(&block.as_bytes()[100..])?;
    writeln!(file, "needle {}", "x".repeat(92))
}

/// One line of 200 MB with `needle` in its middle, and nothing else.
pub(crate) fn long_line(soak: &mut Soak) {
    const WHAT: &str = "line of 200 MB";
    const FILE: &str = "long/line.txt";
    let half = "x".repeat(LINE_BYTES / 2);
    let path = soak.root().join(FILE);
    fs::create_dir(path.with_file_name("")).expect("the root is writable");
    fs::write(&path, format!("{half}needle{half}")).expect("the disk has room for 200 MB");
    drop(half);
    let mut ask = |tool, arguments, expected| drop(soak.ask(WHAT, tool, &arguments, expected));
    ask("ls", json!({"path": "long"}), Shows("line.txt"));
    ask("find", json!({"path": "long"}), Shows("line.txt"));
    ask("read", json!({"path": FILE}), Shows("[cut: the line has 200000006 bytes]"));
    ask("read", json!({"path": FILE, "offset": 100_000_000, "limit_bytes": 6}), Shows("needle"));
    for output in ["content", "count", "files"] {
        // A line is searched whole, in memory; one this long is skipped, with a notice.
        let skipped = Skips("a line over 8 MiB");
        ask("grep", json!({"path": FILE, "pattern": "needle", "output": output}), skipped);
    }
    let edit = json!({"path": FILE, "find": "needle", "replace": "x"});
    ask("edit", edit, Refused(ErrorCode::FileTooLarge));
}

/// A directory with a million files, one of which contains `needle`.
pub(crate) fn wide_directory(soak: &mut Soak) {
    const WHAT: &str = "1,000,000 entries";
    let directory = soak.root().join("wide");
    fs::create_dir(&directory).expect("the root is writable");
    for number in 0..ENTRIES {
        File::create(directory.join(format!("entry-{number:07}"))).expect("the disk has a million inodes");
    }
    fs::write(directory.join("entry-0777777"), "needle\n").expect("the root is writable");
    let first = soak.ask(WHAT, "ls", &json!({"path": "wide"}), Shows("entry-0000199"));
    let next = json!({"path": "wide", "cursor": first.next_page_cursor});
    soak.ask(WHAT, "ls", &next, Shows("entry-0000399"));
    let mut ask = |tool, arguments, expected| drop(soak.ask(WHAT, tool, &arguments, expected));
    ask("ls", json!({"path": "wide", "recursive": true}), Shows("entry-0000199"));
    ask("find", json!({"path": "wide"}), ShowsOrStops("entry-0000999"));
    ask("find", json!({"path": "wide", "name_pattern": "*-0777777"}), ShowsOrStops("entry-0777777"));
    for output in ["content", "count", "files"] {
        ask(
            "grep",
            json!({"path": "wide", "pattern": "needle", "output": output}),
            ShowsOrStops("entry-0777777"),
        );
    }
    ask("read", json!({"path": "wide/entry-0777777"}), Shows("needle"));
    ask("edit", json!({"path": "wide/entry-0777777", "find": "needle", "replace": "pin"}), Shows("+pin"));
    ask("write", json!({"path": "wide/new", "content": "new\n"}), Shows("+new"));
    ask("delete", json!({"path": "wide", "dry_run": true}), Refused(ErrorCode::IsDirectory));
}

/// A million files in 50,000 directories, the last of which has a denied file: a command must not see it.
pub(crate) fn large_tree(soak: &mut Soak) {
    const WHAT: &str = "50,000 directories";
    const FILES: usize = 20;
    let root = soak.root().join("tree");
    for number in 0..ENTRIES / FILES {
        let directory = root.join(format!("{}/{}", number / 100, number % 100));
        fs::create_dir_all(&directory).expect("the root is writable");
        let first = directory.join("0");
        File::create(&first).expect("the root is writable");
        for file in 1..FILES {
            fs::hard_link(&first, directory.join(file.to_string())).expect("the root is writable");
        }
    }
    fs::write(root.join("499/99/.env"), "needle\n").expect("the root is writable");
    let mut bash = |cmd, expected| drop(soak.ask(WHAT, "bash", &json!({"cmd": cmd}), expected));
    bash("cat tree/499/99/.env | grep needle || echo hidden", Shows("hidden"));
    bash("mv tree/499 tree/moved && echo moved", Shows("moved"));
    bash("cat tree/moved/99/.env | grep needle || echo hidden", Shows("hidden"));
    bash("mv tree moved && echo moved", Shows("moved"));
    bash("cat moved/moved/99/.env | grep needle || echo hidden", Shows("hidden"));
}

/// 200 nested directories; the innermost has a file that contains `needle`.
pub(crate) fn deep_tree(soak: &mut Soak) {
    const WHAT: &str = "200 levels";
    let levels: Vec<String> = (0..LEVELS).map(|level| format!("level-{level:03}")).collect();
    let deepest = format!("deep/{}", levels.join("/"));
    let file = format!("{deepest}/deepest.txt");
    fs::create_dir_all(soak.root().join(&deepest)).expect("the path is short enough");
    fs::write(soak.root().join(&file), "needle\n").expect("the root is writable");
    let all = json!({"path": "deep", "recursive": true, "limit": 1000});
    soak.ask_all_pages(WHAT, "ls", &all, "deepest.txt");
    soak.ask_all_pages(WHAT, "find", &json!({"path": "deep"}), "deepest.txt");
    let mut ask = |tool, arguments, expected| drop(soak.ask(WHAT, tool, &arguments, expected));
    ask("ls", json!({"path": deepest}), Shows("deepest.txt"));
    ask("find", json!({"path": "deep", "name_pattern": "deepest.*"}), Shows("deepest.txt"));
    ask("grep", json!({"path": "deep", "pattern": "needle"}), Shows("needle"));
    ask("read", json!({"path": file}), Shows("1\tneedle"));
    ask("edit", json!({"path": file, "find": "needle", "replace": "pin"}), Shows("+pin"));
    let new = format!("new/{}/f", levels.join("/"));
    ask("write", json!({"path": new, "content": "made\n"}), Shows("+made"));
    ask("delete", json!({"path": file}), Shows("-pin"));
}

/// Names with a newline, with invalid UTF-8, and with all 255 bytes that a name can have.
pub(crate) fn odd_names(soak: &mut Soak) {
    const WHAT: &str = "odd names";
    let directory = soak.root().join("odd");
    fs::create_dir(&directory).expect("the root is writable");
    let longest = "n".repeat(255);
    let wide = format!("{}n", "é".repeat(127));
    let names: [&[u8]; 6] =
        [b"new\nline", b"\xff\xfe\x80", longest.as_bytes(), wide.as_bytes(), b"\x1b[31mred", b"back\\slash"];
    for name in names {
        let file = File::create(directory.join(OsStr::from_bytes(name)));
        BufWriter::new(file.expect("the root is writable")).write_all(b"needle\n").expect("it is writable");
    }
    let listed = soak.ask(WHAT, "ls", &json!({"path": "odd"}), Shows("new\\nline"));
    let found = soak.ask(WHAT, "find", &json!({"path": "odd"}), Shows("new\\nline"));
    let matched = soak.ask(WHAT, "grep", &json!({"path": "odd", "pattern": "needle"}), Shows("new\\nline"));
    for envelope in [&listed, &found, &matched] {
        assert_eq!(envelope.stdout.lines().count(), names.len(), "{:?}", envelope.stdout);
    }
    for shown in listed.stdout.lines() {
        let path = format!("odd/{shown}");
        soak.ask(WHAT, "read", &json!({"path": path}), Shows("1\tneedle"));
        soak.ask(WHAT, "edit", &json!({"path": path, "find": "needle", "replace": "pin"}), Shows("+pin"));
    }
}
