//! What is asked about: each is made, asked about with every tool that could choke on it, and left for the
//! end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use protocol::ErrorCode;
use serde_json::json;

use super::query::{Interview, Right};

/// How many lines of 100 bytes make 5 GB.
const HUGE_LINES: usize = 50_000_000;

const BLOCK_LINES: usize = 10_000;

const LINE_BYTES: usize = 200_000_000;

const ENTRIES: usize = 1_000_000;

const LEVELS: usize = 200;

fn shows(text: &str) -> Right {
    Right::Shows(text.to_owned())
}

fn shows_or_fuse(text: &str) -> Right {
    Right::ShowsOrFuse(text.to_owned())
}

/// A file of 5 GB in lines of 100 bytes; the last says `needle`.
pub(crate) fn huge_file(interview: &mut Interview) {
    const WHAT: &str = "file of 5 GB";
    const FILE: &str = "huge/file.txt";
    make_huge_file(&interview.root().join(FILE)).expect("the disk has room for 5 GB");
    let mut ask = |tool, arguments, right| drop(interview.ask(WHAT, tool, &arguments, &right));
    let too_large = || Right::Refused(ErrorCode::FileTooLarge);
    ask("ls", json!({"path": "huge"}), shows("file.txt"));
    ask("find", json!({"path": "huge", "name_pattern": "*.txt"}), shows("file.txt"));
    ask("read", json!({"path": FILE}), shows("400\tline"));
    ask("read", json!({"path": FILE, "limit": 2000}), shows("400\tline"));
    ask("read", json!({"path": FILE, "start_line": 1_000_000, "limit": 1}), shows("1000000\tline"));
    let far = json!({"path": FILE, "start_line": HUGE_LINES, "limit": 1});
    ask("read", far, Right::ShowsOrTimeout("50000000\tneedle".to_owned()));
    ask("read", json!({"path": FILE, "offset": 4_999_999_900_u64}), shows("needle"));
    ask("grep", json!({"path": FILE, "pattern": "needle"}), shows_or_fuse("needle"));
    ask("grep", json!({"path": FILE, "pattern": "line", "limit": 5}), shows(":5:line"));
    ask("grep", json!({"path": FILE, "pattern": "line", "output": "count"}), shows_or_fuse(":"));
    ask("grep", json!({"path": FILE, "pattern": "needle", "output": "files"}), shows_or_fuse("file.txt"));
    ask("edit", json!({"path": FILE, "find": "needle", "replace": "x"}), too_large());
    ask("write", json!({"path": FILE, "content": "one more\n", "mode": "append"}), shows(""));
    ask("read", json!({"path": FILE, "limit": 1}), shows("1\tline"));
    ask("write", json!({"path": FILE, "content": "small\n", "dry_run": true}), shows(""));
    ask("delete", json!({"path": FILE, "dry_run": true}), shows(""));
    ask("write", json!({"path": FILE, "content": "small\n"}), shows(""));
}

fn make_huge_file(path: &Path) -> std::io::Result<()> {
    fs::create_dir(path.parent().expect("it lies in a directory"))?;
    let block = format!("line {}\n", "x".repeat(94)).repeat(BLOCK_LINES);
    let mut file = File::create(path)?;
    for _ in 0..HUGE_LINES / BLOCK_LINES - 1 {
        file.write_all(block.as_bytes())?;
    }
    file.write_all(&block.as_bytes()[100..])?;
    writeln!(file, "needle {}", "x".repeat(92))
}

/// One line of 200 MB with `needle` in its middle, and nothing else.
pub(crate) fn long_line(interview: &mut Interview) {
    const WHAT: &str = "line of 200 MB";
    const FILE: &str = "long/line.txt";
    let half = "x".repeat(LINE_BYTES / 2);
    let path = interview.root().join(FILE);
    fs::create_dir(path.with_file_name("")).expect("the root is writable");
    fs::write(&path, format!("{half}needle{half}")).expect("the disk has room for 200 MB");
    drop(half);
    let mut ask = |tool, arguments, right| drop(interview.ask(WHAT, tool, &arguments, &right));
    ask("ls", json!({"path": "long"}), shows("line.txt"));
    ask("find", json!({"path": "long"}), shows("line.txt"));
    ask("read", json!({"path": FILE}), shows("[cut: the line has 200000006 bytes]"));
    ask("read", json!({"path": FILE, "offset": 100_000_000, "limit_bytes": 6}), shows("needle"));
    for output in ["content", "count", "files"] {
        // A line is searched as a whole and held for it; one of this length is left out and said so.
        let left_out = Right::LeavesOut("a line over 8 MiB".to_owned());
        ask("grep", json!({"path": FILE, "pattern": "needle", "output": output}), left_out);
    }
    let edit = json!({"path": FILE, "find": "needle", "replace": "x"});
    ask("edit", edit, Right::Refused(ErrorCode::FileTooLarge));
}

/// A directory with a million files, one of which says `needle`.
pub(crate) fn wide_directory(interview: &mut Interview) {
    const WHAT: &str = "1,000,000 entries";
    let directory = interview.root().join("wide");
    fs::create_dir(&directory).expect("the root is writable");
    for number in 0..ENTRIES {
        File::create(directory.join(format!("entry-{number:07}"))).expect("the disk has a million inodes");
    }
    fs::write(directory.join("entry-0777777"), "needle\n").expect("the root is writable");
    let first = interview.ask(WHAT, "ls", &json!({"path": "wide"}), &shows("entry-0000199"));
    let next = json!({"path": "wide", "cursor": first.next_page_cursor});
    interview.ask(WHAT, "ls", &next, &shows("entry-0000399"));
    let mut ask = |tool, arguments, right| drop(interview.ask(WHAT, tool, &arguments, &right));
    ask("ls", json!({"path": "wide", "recursive": true}), shows("entry-0000199"));
    ask("find", json!({"path": "wide"}), shows_or_fuse("entry-0000999"));
    ask("find", json!({"path": "wide", "name_pattern": "*-0777777"}), shows_or_fuse("entry-0777777"));
    for output in ["content", "count", "files"] {
        ask(
            "grep",
            json!({"path": "wide", "pattern": "needle", "output": output}),
            shows_or_fuse("entry-0777777"),
        );
    }
    ask("read", json!({"path": "wide/entry-0777777"}), shows("needle"));
    ask("edit", json!({"path": "wide/entry-0777777", "find": "needle", "replace": "pin"}), shows("+pin"));
    ask("write", json!({"path": "wide/new", "content": "new\n"}), shows("+new"));
    ask("delete", json!({"path": "wide", "dry_run": true}), Right::Refused(ErrorCode::IsDirectory));
}

/// 200 directories in each other; the innermost holds a file that says `needle`.
pub(crate) fn deep_tree(interview: &mut Interview) {
    const WHAT: &str = "200 levels";
    let levels: Vec<String> = (0..LEVELS).map(|level| format!("level-{level:03}")).collect();
    let deepest = format!("deep/{}", levels.join("/"));
    let file = format!("{deepest}/deepest.txt");
    fs::create_dir_all(interview.root().join(&deepest)).expect("the path is short enough");
    fs::write(interview.root().join(&file), "needle\n").expect("the root is writable");
    let all = json!({"path": "deep", "recursive": true, "limit": 1000});
    interview.ask_to_the_end(WHAT, "ls", &all, "deepest.txt");
    interview.ask_to_the_end(WHAT, "find", &json!({"path": "deep"}), "deepest.txt");
    let mut ask = |tool, arguments, right| drop(interview.ask(WHAT, tool, &arguments, &right));
    ask("ls", json!({"path": deepest}), shows("deepest.txt"));
    ask("find", json!({"path": "deep", "name_pattern": "deepest.*"}), shows("deepest.txt"));
    ask("grep", json!({"path": "deep", "pattern": "needle"}), shows("needle"));
    ask("read", json!({"path": file}), shows("1\tneedle"));
    ask("edit", json!({"path": file, "find": "needle", "replace": "pin"}), shows("+pin"));
    let new = format!("new/{}/f", levels.join("/"));
    ask("write", json!({"path": new, "content": "made\n"}), shows("+made"));
    ask("delete", json!({"path": file}), shows("-pin"));
}

/// Names with a newline, bytes that are no UTF-8, and all of the 255 bytes that a name can have.
pub(crate) fn odd_names(interview: &mut Interview) {
    const WHAT: &str = "odd names";
    let directory = interview.root().join("odd");
    fs::create_dir(&directory).expect("the root is writable");
    let longest = "n".repeat(255);
    let wide = format!("{}n", "é".repeat(127));
    let names: [&[u8]; 6] =
        [b"new\nline", b"\xff\xfe\x80", longest.as_bytes(), wide.as_bytes(), b"\x1b[31mred", b"back\\slash"];
    for name in names {
        let file = File::create(directory.join(OsStr::from_bytes(name)));
        BufWriter::new(file.expect("the root is writable")).write_all(b"needle\n").expect("it is writable");
    }
    let listed = interview.ask(WHAT, "ls", &json!({"path": "odd"}), &shows("new\\nline"));
    let found = interview.ask(WHAT, "find", &json!({"path": "odd"}), &shows("new\\nline"));
    let matched =
        interview.ask(WHAT, "grep", &json!({"path": "odd", "pattern": "needle"}), &shows("new\\nline"));
    for envelope in [&listed, &found, &matched] {
        assert_eq!(envelope.stdout.lines().count(), names.len(), "{:?}", envelope.stdout);
    }
    for shown in listed.stdout.lines() {
        let path = format!("odd/{shown}");
        interview.ask(WHAT, "read", &json!({"path": path}), &shows("1\tneedle"));
        interview.ask(
            WHAT,
            "edit",
            &json!({"path": path, "find": "needle", "replace": "pin"}),
            &shows("+pin"),
        );
    }
}
