//! Signals to processes, by their IDs.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// Sends a signal to a process, which may already have ended.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is a positive i32");
    let _ = kill_process(pid, signal);
}

/// Stops a process, and waits until all of its threads have stopped: the signal reaches them one by one.
pub fn stop(pid: u32) {
    send(pid, Signal::STOP);
    wait::until_true("the process has stopped", || threads(pid).iter().all(|state| state == "T"));
}

/// The states of a process's threads: the field after the name in parentheses.
fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok())
        .filter_map(|stat| Some(stat.rsplit_once(')')?.1.split_whitespace().next()?.to_owned()))
        .collect()
}
