//! What the processes inside hand down to one another.

use std::os::fd::OwnedFd;

use libc::sock_filter;

use super::private_home::PrivateHome;
use super::scan::Match;
use crate::settings::{SpawnerSettings, Tier};

/// What all commands share.
pub(super) struct SpawnerContext<'a> {
    /// How commands are confined.
    pub(super) tier: Tier,
    /// The spawner's settings.
    pub(super) settings: &'a SpawnerSettings,
    /// The system call filter.
    pub(super) filter: Vec<sock_filter>,
}

/// What belongs to one command.
pub(super) struct CommandContext<'a> {
    /// What all commands share.
    pub(super) spawner: &'a SpawnerContext<'a>,
    /// Denied names and control files in the roots.
    pub(super) matches: &'a [Match],
    /// The user ID, as outside.
    pub(super) user: u32,
    /// The group ID, as outside.
    pub(super) group: u32,
    /// The home on disk, in tier B.
    pub(super) home: Option<&'a PrivateHome>,
    /// Becomes the command's stdout.
    pub(super) stdout: OwnedFd,
    /// Becomes the command's stderr.
    pub(super) stderr: OwnedFd,
    /// The socket to the monitor.
    pub(super) monitor: OwnedFd,
}
