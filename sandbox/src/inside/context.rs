//! What the processes inside hand down to one another.

use std::os::fd::OwnedFd;

use libc::sock_filter;

use super::private_home::PrivateHome;
use crate::settings::{SpawnerSettings, Tier};

/// What all commands share.
pub(super) struct SpawnerContext<'a> {
    pub(super) tier: Tier,
    pub(super) settings: &'a SpawnerSettings,
    pub(super) filter: Vec<sock_filter>,
}

/// What belongs to one command.
pub(super) struct CommandContext<'a> {
    pub(super) spawner: &'a SpawnerContext<'a>,
    /// User and group ID, as outside.
    pub(super) user: u32,
    pub(super) group: u32,
    /// The home on disk, in tier B.
    pub(super) home: Option<&'a PrivateHome>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// The socket to the monitor.
    pub(super) monitor: OwnedFd,
}
