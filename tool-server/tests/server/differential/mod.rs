//! One question to a tool and to a program, and what both answer.

mod programs;
mod tree;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::roots::{DEFAULT_DENIED, DeniedPaths, is_public_at, may_be_certificate, names};
use protocol::Data;
use serde_json::Value;
use toolkit::Bounds;

pub(crate) use self::tree::Tree;
use crate::support::{Settings, TestServer};

pub(crate) struct Comparison {
    server: TestServer,
    root: PathBuf,
    denied: DeniedPaths,
    has_git: bool,
}

impl Comparison {
    /// A server whose only root is the tree, and whose answers are practically unbounded.
    pub(crate) async fn of(tree: &Tree) -> Self {
        let settings = Settings {
            roots: vec![tree.root.clone()],
            timeout: Duration::from_secs(600),
            bounds: Bounds { lines: 1_000_000, bytes: 1 << 30 },
            ..Settings::default()
        };
        Self {
            server: TestServer::with(settings).await,
            root: tree.root.clone(),
            denied: DeniedPaths::new(DEFAULT_DENIED.split(',')).unwrap(),
            has_git: tree.root.join(".git").exists(),
        }
    }

    /// Compares an answer of `grep` with one of `rg`, and returns how many results both have.
    pub(crate) async fn grep(&self, question: &Value) -> usize {
        let mut found = BTreeSet::new();
        for data in self.pages("grep", question).await {
            for line in list(&data, "matches") {
                found.insert((text(&line["path"]), line["line"].as_u64(), line["column"].as_u64()));
            }
            found.extend(list(&data, "files").iter().map(|path| (text(path), None, None)));
            for count in list(&data, "counts") {
                found.insert((text(&count["path"]), count["matching_lines"].as_u64(), None));
            }
        }
        let expected = programs::rg(&self.root, question).into_iter();
        let expected = expected.filter(|(path, ..)| self.is_allowed(path));
        let mut expected: BTreeSet<_> =
            expected.map(|(path, line, column)| (names::to_text(&path), line, column)).collect();
        if question["pattern"].as_str().is_some_and(|pattern| pattern.contains(['^', '$'])) {
            for found in [&mut found, &mut expected] {
                found.retain(|(path, ..)| !has_lone_carriage_return(&self.root.join(path)));
            }
        }
        same(question, &found, &expected)
    }

    /// Compares an answer of `find` with one of `fd`, and returns how many results both have.
    pub(crate) async fn find(&self, question: &Value) -> usize {
        let mut found = BTreeSet::new();
        for data in self.pages("find", question).await {
            found.extend(list(&data, "entries").iter().map(|entry| text(&entry["path"])));
        }
        let expected = programs::fd(&self.root, question, self.has_git).into_iter();
        let expected = expected.filter(|path| self.is_allowed(path));
        let expected: BTreeSet<String> = expected.map(|path| names::to_text(&path)).collect();
        // Newer versions of fd leave out the entries of `.git`, older ones do not.
        let outside_git = |paths: BTreeSet<String>| -> BTreeSet<String> {
            paths.into_iter().filter(|path| path.split('/').all(|name| name != ".git")).collect()
        };
        same(question, &outside_git(found), &outside_git(expected))
    }

    async fn pages(&self, tool: &str, question: &Value) -> Vec<Data> {
        let mut arguments = question.clone();
        arguments["limit"] = Value::from(100_000);
        let mut pages = Vec::new();
        loop {
            let page = self.server.call(tool, arguments.clone()).await;
            assert!(page.ok && page.meta.data["aborted_reason"].is_null(), "{question}: {}", page.stderr);
            pages.push(page.meta.data);
            match page.next_page_cursor {
                Some(next) => arguments["cursor"] = Value::from(next),
                None => return pages,
            }
        }
    }

    /// The programs know nothing of denied paths, nor that files with public keys alone are not denied.
    fn is_allowed(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        !self.denied.covers(path) || self.is_public(path)
    }

    fn is_public(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().filter(|name| may_be_certificate(name.as_bytes())) else {
            return false;
        };
        let directory = self.root.join(path.parent().unwrap_or(Path::new("")));
        File::open(directory).is_ok_and(|directory| is_public_at(directory.as_fd(), name))
    }
}

/// To newer versions of rg, as to the tool, a carriage return alone bounds a line for `^` and `$`; to older
/// ones it does not.
fn has_lone_carriage_return(file: &Path) -> bool {
    let Ok(content) = std::fs::read(file) else { return false };
    content.ends_with(b"\r") || content.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n')
}

fn list<'a>(data: &'a Value, name: &str) -> &'a [Value] {
    data[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn same<T: Ord + Debug>(question: &Value, found: &BTreeSet<T>, expected: &BTreeSet<T>) -> usize {
    let missing: Vec<_> = expected.difference(found).take(5).collect();
    let wrong: Vec<_> = found.difference(expected).take(5).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "{question}\nmissing: {missing:?}\nwrong: {wrong:?}");
    println!("{:>7} {question}", found.len());
    found.len()
}
