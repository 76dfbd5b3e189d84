//! Starts a program with exactly the given environment and file descriptors.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use command_fds::{CommandFdExt, FdMapping, FdMappingCollision};
use process::secrets::{self, SECRETS_FD, SecretsError};
use tokio::process::Child;
use tokio::runtime::Handle;

use super::launcher;

/// One child at a time: a descriptor for one child must not be open while another is forked.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The first descriptor after stdin, stdout and stderr.
const FIRST_DESCRIPTOR: i32 = 3;

#[derive(Debug)]
pub(crate) struct SpawnSpec {
    /// The program, by its absolute path.
    pub program: PathBuf,
    pub arguments: &'static [&'static str],
    /// Its whole environment, except for the number of the secrets' descriptor.
    pub environment: Vec<(String, String)>,
    /// Its secrets, which go through a pipe.
    pub secrets: HashMap<String, String>,
    /// Its file descriptors from 3 on; the pipe with the secrets comes after them.
    pub descriptors: Vec<OwnedFd>,
    pub reads_stdout: bool,
    /// Whether its stderr is read; otherwise it is inherited.
    pub reads_stderr: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error("could not duplicate a descriptor for the child")]
    Descriptor(#[source] io::Error),
    #[error("the descriptors for the child collide")]
    Collision(#[from] FdMappingCollision),
    #[error("could not start {}", .0.display())]
    Start(PathBuf, #[source] io::Error),
}

/// Starts a child with a pipe as its stdin, in its own process group: Ctrl-C reaches only the supervisor,
/// which ends its children in order.
pub(crate) fn spawn(spawn_spec: SpawnSpec) -> Result<Child, SpawnError> {
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut given = spawn_spec.descriptors;
    given.push(secrets::into_pipe(&spawn_spec.secrets)?);
    let mappings: Vec<FdMapping> = (FIRST_DESCRIPTOR..)
        .zip(given)
        .map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd })
        .collect();
    let secrets_fd = mappings.last().map_or(FIRST_DESCRIPTOR, |mapping| mapping.child_fd);
    let mut command = Command::new(&spawn_spec.program);
    command
        .args(spawn_spec.arguments)
        .env_clear()
        .envs(spawn_spec.environment)
        .env(SECRETS_FD, secrets_fd.to_string())
        .stdin(Stdio::piped())
        .stdout(if spawn_spec.reads_stdout { Stdio::piped() } else { Stdio::null() })
        .stderr(if spawn_spec.reads_stderr { Stdio::piped() } else { Stdio::inherit() })
        .process_group(0)
        .fd_mappings(mappings)?;
    let runtime = Handle::current();
    let started = launcher::run(move || {
        let _entered = runtime.enter();
        tokio::process::Command::from(command).kill_on_drop(true).spawn()
    });
    started.map_err(|error| SpawnError::Start(spawn_spec.program, error))
}
