//! A program to start, and its command with exactly the given environment and descriptors.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use command_fds::{CommandFdExt, FdMapping, FdMappingCollision};
use process::secrets::{SECRETS_FD, SecretsError};
use serde::{Deserialize, Serialize};

/// The first descriptor after stdin, stdout and stderr.
const FIRST_DESCRIPTOR: i32 = 3;

/// A child's settings before it is started for the first time. It has no secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    /// Its file, by an absolute path.
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// Its whole environment, except for the number of the secrets' descriptor.
    pub environment: Vec<(String, String)>,
    /// Whether its stdout is read; otherwise it goes nowhere.
    pub reads_stdout: bool,
}

/// What a child is given at each start.
#[derive(Debug, Default)]
pub struct Given {
    /// Its secrets, which go through a pipe.
    pub secrets: HashMap<String, String>,
    /// Its file descriptors from 3 on; the pipe with the secrets comes after them.
    pub descriptors: Vec<OwnedFd>,
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error("could not prepare a descriptor for the child")]
    Descriptor(#[source] io::Error),
    #[error("the launcher of child processes does not answer")]
    Launcher(#[source] io::Error),
    #[error("could not start {}", .0.display())]
    Start(PathBuf, #[source] io::Error),
}

/// The command of a program, in its own process group: Ctrl-C reaches only the supervisor, which ends its
/// children in order. The last of `given` is the pipe with the secrets.
pub fn command(
    program: &Program,
    [stdin, stdout, stderr]: [Stdio; 3],
    given: Vec<OwnedFd>,
) -> Result<Command, FdMappingCollision> {
    let mappings: Vec<FdMapping> = (FIRST_DESCRIPTOR..)
        .zip(given)
        .map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd })
        .collect();
    let secrets_fd = mappings.last().map_or(FIRST_DESCRIPTOR, |mapping| mapping.child_fd);
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .env_clear()
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
        .env(SECRETS_FD, secrets_fd.to_string())
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .fd_mappings(mappings)?;
    Ok(command)
}
