//! Detects what a test must not leave behind: processes and temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::{TestDir, program, wait};

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
