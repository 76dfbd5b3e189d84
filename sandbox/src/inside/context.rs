//! What the processes inside hand down to one another.

use std::os::fd::{BorrowedFd, OwnedFd};

use libc::sock_filter;

use super::cgroup::Cgroups;
use super::private_home::PrivateHome;
use crate::messages::Order;
use crate::settings::{SpawnerSettings, Tier};

/// What all commands share.
pub(super) struct SpawnerContext<'a> {
    pub(super) tier: Tier,
    pub(super) settings: &'a SpawnerSettings,
    pub(super) filter: Vec<sock_filter>,
    /// Where each command gets a cgroup, if this machine lets us make one.
    pub(super) cgroups: Option<Cgroups>,
}

/// What belongs to one sandbox.
pub(super) struct CommandContext<'a> {
    pub(super) spawner: &'a SpawnerContext<'a>,
    /// Tells it from the others.
    pub(super) name: String,
    /// How it differs from others.
    pub(super) order: &'a Order,
    /// User and group ID, as outside.
    pub(super) user: u32,
    pub(super) group: u32,
    /// The home on disk, in tier B.
    pub(super) home: Option<&'a PrivateHome>,
    /// The socket to the server.
    pub(super) control: BorrowedFd<'a>,
    /// Closed by the spawner when everything must end.
    pub(super) leash: OwnedFd,
}

impl CommandContext<'_> {
    /// Whether the command has a network namespace that may serve another one.
    pub(super) fn watches_network(&self) -> bool {
        self.spawner.tier == Tier::A && self.spawner.settings.network.is_their_own()
    }
}
