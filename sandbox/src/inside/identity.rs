//! Namespaces and who one is in them: the same user as outside, and nobody else.

use std::fs;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::system::sethostname;

use crate::calls;
use crate::step::{During as _, Step, StepError};

/// Moves this process into a user namespace, and into a copy of the mounts that belongs to it.
pub fn new_user_and_mounts() -> Result<(), StepError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // A process that changed its user is not, and then its own maps belong to root.
    set_dumpable_behavior(DumpableBehavior::Dumpable).during(Step::UserNamespace)?;
    calls::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).during(Step::UserNamespace)?;
    map(user, group)
}

/// The namespaces of one command, made by the fork that makes its keeper.
pub fn namespaces(network: bool) -> i32 {
    let own = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    if network { own } else { own | libc::CLONE_NEWNET }
}

/// Maps the user to itself. Groups can no longer be changed, which is what the kernel asks in exchange.
pub fn map(user: u32, group: u32) -> Result<(), StepError> {
    fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
        .during(Step::IdentityMap)
}

/// Gives the command a host of its own: a name, and a loopback interface.
pub fn own_host(network: bool) -> Result<(), StepError> {
    sethostname(b"sandbox").during(Step::Hostname)?;
    if network {
        return Ok(());
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let socket = socket.during(Step::Loopback)?;
    calls::loopback_up(std::os::fd::AsFd::as_fd(&socket)).during(Step::Loopback)
}
