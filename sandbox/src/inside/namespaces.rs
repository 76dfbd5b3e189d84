//! Namespaces, and the user in them: the same one as outside, and no other.

use std::fs;

use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::system::sethostname;

use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Moves this process into a new user namespace with its own copy of the mounts.
pub(super) fn unshare_user_and_mounts() -> Result<(), StepError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    syscalls::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).during(Step::UserNamespace)?;
    write_id_maps(user, group)
}

/// The namespaces that each command has for itself; the fork that creates its init process takes them.
pub(super) const OWN: i32 =
    libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Maps the user to itself. In exchange the kernel demands that groups can no longer be changed.
pub(super) fn write_id_maps(user: u32, group: u32) -> Result<(), StepError> {
    writing_to_itself(|| {
        fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
            .during(Step::IdentityMap)
    })
}

/// Lets this process write to its files in `/proc`. They belong to root while other processes of the user may
/// not look into it, and they may not before and after.
pub(super) fn writing_to_itself<T>(write: impl FnOnce() -> Result<T, StepError>) -> Result<T, StepError> {
    set_dumpable_behavior(DumpableBehavior::Dumpable).during(Step::Dumpable)?;
    let written = write();
    set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Step::Dumpable)?;
    written
}

/// Sets the command's own host name.
pub(super) fn set_host_name() -> Result<(), StepError> {
    sethostname(b"sandbox").during(Step::Hostname)
}
