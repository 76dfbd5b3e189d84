//! Checks the data directory, its free disk space, and whether a supervisor uses it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use super::Finding;
use supervisor::data_dir::DataDir;
use supervisor::health::disk::{FEW_FREE_MB, LEAST_FREE_MB, free_mb};
use supervisor::tokens::Tokens;

pub(super) fn data_directory(data: &DataDir) -> Finding {
    const NAME: &str = "data directory";
    let shown = data.path().display();
    let metadata = match data.path().metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let what = format!("{shown} does not exist yet");
            return Finding::warn(
                NAME,
                what,
                "`supervisor run` creates it; or choose another with --data-dir.",
            );
        }
        Err(error) => {
            let remedy = "Run this as the user who runs the supervisor.";
            return Finding::fail(NAME, format!("{shown}: {error}"), remedy);
        }
    };
    if let Some((path, errno)) = not_writable(data) {
        let what = format!("{} cannot be written: {errno}", path.display());
        let remedy = "Make it writable for the user who runs the supervisor; a disk that became read-only \
                      has failed or is full: see the kernel's log.";
        return Finding::fail(NAME, what, remedy);
    }
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let what = format!("{shown} belongs to user {}, not to you", metadata.uid());
        return Finding::warn(NAME, what, "Run the supervisor and its commands as the same user.");
    }
    if mode & 0o077 != 0 {
        let what = format!("other users can access {shown} (mode {mode:o})");
        return Finding::warn(NAME, what, format!("chmod 700 {shown}"));
    }
    Finding::ok(NAME, format!("{shown}, private"))
}

/// The first of what a supervisor writes that this user cannot write; what does not exist yet is made.
fn not_writable(data: &DataDir) -> Option<(PathBuf, Errno)> {
    data.written().into_iter().find_map(|path| {
        match accessat(CWD, &path, Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) | Err(Errno::NOENT) => None,
            Err(errno) => Some((path, errno)),
        }
    })
}

pub(super) fn running(data: &DataDir) -> Finding {
    const NAME: &str = "supervisor";
    match (data.is_in_use(), Tokens::read(&data.tokens())) {
        (Ok(false), _) => Finding::ok(NAME, "not running"),
        (Ok(true), Ok(tokens)) => {
            Finding::ok(NAME, format!("running at {}; what follows is what it sees", tokens.control_url))
        }
        (Ok(true), Err(error)) => Finding::fail(NAME, format!("running, but {error}"), "Restart it."),
        (Err(error), _) => {
            Finding::warn(NAME, error.to_string(), "Run this as the user who runs the supervisor.")
        }
    }
}

pub(super) fn disk(data: &DataDir) -> Finding {
    const NAME: &str = "disk";
    let existing = data.path().ancestors().find(|directory| directory.exists()).unwrap_or(data.path());
    match free_mb(existing) {
        Err(errno) => Finding::warn(NAME, errno.to_string(), "Check the disk of the data directory."),
        Ok(free_mb) => {
            let what = format!("{free_mb} MiB free");
            let remedy = "Free some space, or delete old tasks: `supervisor prune --older-than 30d`.";
            match free_mb {
                free if free < LEAST_FREE_MB => Finding::fail(NAME, what, remedy),
                free if free < FEW_FREE_MB => Finding::warn(NAME, what, remedy),
                _ => Finding::ok(NAME, what),
            }
        }
    }
}
