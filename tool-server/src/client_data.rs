//! The data directories below the user's directory for states, for servers that are given none.
//!
//! A server that its client has started has one of its own, so that two clients can work in one project at
//! the same time. These directories are numbered for each project, and a server takes the first that no
//! other holds. So the next server continues the journal, and looks for what a killed one left.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use protocol::hash::sha256;
use rustix::fs::{FlockOperation, flock};

/// The most servers on the same roots at once.
const MAX_SERVERS: u32 = 100;

/// The directory of the one server at a port with these roots. Its journal keeps a second one out.
pub fn lasting(states: &Path, roots: &[PathBuf]) -> PathBuf {
    states.join("autonous/tools").join(project(roots))
}

/// Short, because the self-check of the sandbox has a socket below it, whose path cannot be long.
fn project(roots: &[PathBuf]) -> String {
    let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone()).display().to_string();
    let names: Vec<String> = roots.iter().map(real).collect();
    sha256(names.join("\n").as_bytes())[..8].to_owned()
}

/// A directory that no other server uses while this exists.
#[derive(Debug)]
pub struct ClientData {
    path: PathBuf,
    _lock: File,
}

impl ClientData {
    /// Takes a directory for these roots below the directory for states of programs.
    pub fn take(states: &Path, roots: &[PathBuf]) -> io::Result<Self> {
        let project = project(roots);
        for number in 1..=MAX_SERVERS {
            let path = states.join("autonous/mcp").join(format!("{project}-{number}"));
            DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            let lock = path.join("in-use");
            let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock)?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::Error::other(format!("{MAX_SERVERS} servers run on the same directories")))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_of_one_project_have_two_directories_and_the_next_one_has_the_first_again() {
        let states = tempfile::tempdir().unwrap();
        let take = |root: &str| ClientData::take(states.path(), &[root.into()]).unwrap();
        let (one, two, other) = (take("/a"), take("/a"), take("/b"));
        let first = one.path().to_owned();
        assert!(first != two.path() && first != other.path() && two.path() != other.path());
        drop(one);
        assert_eq!(take("/a").path(), first);
    }
}
