//! Detects what a test must not leave behind: processes and temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::{TestDir, signals, wait};

/// How long a child may take to notice that its parent has ended: it gives itself three seconds, on a machine
/// that is busy with other tests.
const GRACE: Duration = Duration::from_secs(15);

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

/// All processes with the directory's mark, or with its path in their command line.
pub fn processes_of(dir: &TestDir) -> Vec<Process> {
    let path = dir.path().display().to_string();
    let is_ours = |process: &Process| dir.mark().is_on(process.pid) || process.command.contains(&path);
    all_pids().filter_map(describe).filter(is_ours).collect()
}

/// All processes of this machine that call themselves so.
pub fn processes_named(name: &str) -> Vec<Process> {
    let is_named =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    all_pids().filter(is_named).filter_map(describe).collect()
}

pub fn processes_with(text: &str) -> Vec<Process> {
    all_pids().filter_map(describe).filter(|process| process.command.contains(text)).collect()
}

/// Waits until no process of the directory is left; otherwise kills those that remain, and panics.
pub fn assert_no_process(dir: &TestDir) {
    if !wait::is_true_within(GRACE, || processes_of(dir).is_empty()) {
        let left = processes_of(dir);
        for process in &left {
            signals::send(process.pid, Signal::KILL);
        }
        panic!("processes were left behind: {left:#?}");
    }
}

/// Panics if a tool has left a temporary file in a root.
pub fn assert_no_temporary_file(root: &Path) {
    let is_file = |path: &PathBuf| !path.symlink_metadata().is_ok_and(|facts| facts.is_dir());
    let mut stray = everything_below(root);
    stray.retain(|path| looks_temporary(path) && is_file(path));
    assert!(stray.is_empty(), "temporary files were left behind: {stray:?}");
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Fields 3 and 4 of `stat` are the state and the parent; the name before them is in parentheses and can
/// contain anything. A process that has ended and waits for its parent to notice is none.
fn describe(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    if has_ended {
        return None;
    }
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(Process { pid, parent, command: String::from_utf8_lossy(&command).replace('\0', " ") })
}

/// All that is below a directory, sorted; nothing where there is none. Links are not followed.
pub fn everything_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(everything_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found.sort();
    found
}

fn looks_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".tmp") || name.starts_with(".tmp") || name.starts_with(".autonous-")
}
