//! Detects what a test must not leave behind: processes and temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::{TestDir, program, wait};

/// How long a child may take to notice that its parent has ended.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub command: String,
}

impl Process {
    pub fn is(&self, name: &str) -> bool {
        self.command.split(' ').next().is_some_and(|program| program.ends_with(&format!("/{name}")))
    }
}

/// All processes with the directory's marker or path in their environment or command line.
pub fn processes_of(dir: &TestDir) -> Vec<Process> {
    let path = dir.path().as_os_str().as_encoded_bytes();
    let marks = [dir.marker().as_bytes(), path];
    all_pids()
        .filter(|pid| ["environ", "cmdline"].iter().any(|file| mentions(*pid, file, &marks)))
        .filter_map(describe)
        .collect()
}

pub fn processes_with(text: &str) -> Vec<Process> {
    all_pids().filter_map(describe).filter(|process| process.command.contains(text)).collect()
}

/// Waits until no process of the directory is left; otherwise kills those that remain, and panics.
pub fn assert_no_process(dir: &TestDir) {
    if wait::within(GRACE, || processes_of(dir).is_empty().then_some(())).is_none() {
        let left = processes_of(dir);
        for process in &left {
            program::signal(process.pid, Signal::KILL);
        }
        panic!("processes were left behind: {left:#?}");
    }
}

/// Panics if a tool has left a temporary file in a root.
pub fn assert_no_temporary_file(root: &Path) {
    let stray: Vec<PathBuf> = files_below(root).into_iter().filter(|path| looks_temporary(path)).collect();
    assert!(stray.is_empty(), "temporary files were left behind: {stray:?}");
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn mentions(pid: u32, file: &str, marks: &[&[u8]]) -> bool {
    let Ok(text) = fs::read(format!("/proc/{pid}/{file}")) else { return false };
    marks.iter().any(|mark| text.windows(mark.len()).any(|window| window == *mark))
}

/// Field 4 of `stat` is the parent; the name before it is in parentheses and can contain anything.
fn describe(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let parent = after_name.split_whitespace().nth(1)?.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(Process { pid, parent, command: String::from_utf8_lossy(&command).replace('\0', " ") })
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path()),
            _ => vec![entry.path()],
        })
        .collect()
}

fn looks_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".tmp") || name.starts_with(".tmp") || name.starts_with(".autonous-")
}
