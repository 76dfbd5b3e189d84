//! Trees of files, and what a page of a tool shows of them.

use std::fs;
use std::path::Path;

use protocol::{Envelope, ErrorCode};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::TestServer;

/// Makes files with a content and, where a path ends in `/`, directories.
pub(crate) fn make(root: &Path, entries: &[(&str, &str)]) {
    for (path, content) in entries {
        let is_directory = path.ends_with('/');
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if is_directory {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::write(path, content).unwrap();
        }
    }
}

pub(crate) fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// Makes files from random paths. Where one path needs a directory and another a file of that name, the
/// first wins.
pub(crate) fn make_random<'a>(root: &Path, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (path, content) in entries {
        let is_name = path.split('/').all(|name| name != "." && name != "..");
        let path = root.join(path);
        if is_name && fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
            fs::write(path, content).unwrap();
        }
    }
}

pub(crate) fn lines(envelope: &Envelope) -> Vec<&str> {
    envelope.stdout.lines().collect()
}

/// The code of a call that must have failed.
pub(crate) fn code(envelope: &Envelope) -> ErrorCode {
    envelope.meta.error.as_ref().unwrap_or_else(|| panic!("the call should fail: {}", envelope.stdout)).code
}

/// Calls a tool that must succeed and returns its lines.
pub(crate) async fn shown(server: &TestServer, tool: &str, arguments: Value) -> Vec<String> {
    let envelope = server.call(tool, arguments).await;
    assert!(envelope.ok, "{}", envelope.stderr);
    envelope.stdout.lines().map(str::to_owned).collect()
}

/// The lines of all pages, one after the other.
pub(crate) async fn all_pages(server: &TestServer, tool: &str, mut arguments: Value) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = server.call(tool, arguments.clone()).await;
        assert!(page.ok, "{}", page.stderr);
        // The limit of `grep` does not count context lines.
        let limit = arguments["limit"].as_u64().filter(|_| tool != "grep").unwrap_or(u64::MAX);
        assert!(u64::try_from(lines(&page).len()).unwrap() <= limit, "{tool} exceeds its limit");
        found.extend(page.stdout.lines().map(str::to_owned));
        match page.next_page_cursor {
            Some(next) => arguments["cursor"] = Value::from(next),
            None => return found,
        }
    }
}
