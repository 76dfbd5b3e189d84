//! The data directory, the room on its disk, and whether a supervisor has it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::Finding;
use crate::data_dir::DataDir;
use crate::tokens::Tokens;

/// With less than this nothing can be relied on.
const LEAST_FREE_MB: u64 = 64;

/// With less than this commands are ended where nothing else is set.
const FEW_FREE_MB: u64 = 1024;

pub(super) fn data_directory(data: &DataDir) -> Finding {
    const NAME: &str = "data directory";
    let shown = data.path().display();
    let metadata = match data.path().metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let what = format!("{shown} is not there yet");
            return Finding::warn(NAME, what, "`supervisor run` makes it; or name another with --data-dir.");
        }
        Err(error) => {
            let remedy = "Run this as the user who runs the supervisor.";
            return Finding::fail(NAME, format!("{shown}: {error}"), remedy);
        }
    };
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let what = format!("{shown} belongs to user {}, not to the one of this command", metadata.uid());
        return Finding::warn(NAME, what, "Run the supervisor and its commands as one user.");
    }
    if mode & 0o077 != 0 {
        let what = format!("others may enter {shown} (mode {mode:o})");
        return Finding::warn(NAME, what, format!("chmod 700 {shown}"));
    }
    Finding::ok(NAME, format!("{shown}, for its owner alone"))
}

pub(super) fn running(data: &DataDir) -> Finding {
    const NAME: &str = "supervisor";
    match (data.is_in_use(), Tokens::read(&data.tokens())) {
        (Ok(false), _) => Finding::ok(NAME, "none runs"),
        (Ok(true), Ok(tokens)) => Finding::ok(NAME, format!("one runs, at {}", tokens.control_url)),
        (Ok(true), Err(error)) => Finding::fail(NAME, format!("one runs, but {error}"), "Restart it."),
        (Err(error), _) => {
            Finding::warn(NAME, error.to_string(), "Run this as the user who runs the supervisor.")
        }
    }
}

pub(super) fn disk(data: &DataDir) -> Finding {
    const NAME: &str = "disk";
    let there = data.path().ancestors().find(|directory| directory.exists()).unwrap_or(data.path());
    match rustix::fs::statvfs(there) {
        Err(errno) => Finding::warn(NAME, errno.to_string(), "Look at the disk of the data directory."),
        Ok(room) => {
            let free_mb = room.f_bavail.saturating_mul(room.f_frsize) >> 20;
            let what = format!("{free_mb} MiB free");
            let remedy = "Make room, or take away what is old: `supervisor prune --older-than 30d`.";
            match free_mb {
                free if free < LEAST_FREE_MB => Finding::fail(NAME, what, remedy),
                free if free < FEW_FREE_MB => Finding::warn(NAME, what, remedy),
                _ => Finding::ok(NAME, what),
            }
        }
    }
}
