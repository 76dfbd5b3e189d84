//! Looks into a running process.
//!
//! A hardened process shows its environment and its files to root alone, so an ordinary user gets `None`, as
//! every other program of that user does. What root sees is checked where the tests run as root.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The environment of a process, or `None` if the kernel hides it.
pub fn environment(pid: u32) -> Option<String> {
    let environment = shown(fs::read(format!("/proc/{pid}/environ")))?;
    Some(String::from_utf8_lossy(&environment).into_owned())
}

/// The files that a process has open, or `None` if the kernel hides them.
pub fn open_files(pid: u32) -> Option<Vec<PathBuf>> {
    let descriptors = shown(fs::read_dir(format!("/proc/{pid}/fd")))?;
    Some(descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).collect())
}

fn shown<T>(result: io::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            assert!(!rustix::process::geteuid().is_root(), "root sees all of a process");
            None
        }
        Err(error) => panic!("the process lives: {error}"),
    }
}
