//! What every program does first: no other process reads its memory, and nothing that it starts gains rights.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::set_no_new_privs;

/// Which step failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum HardeningError {
    #[error("cannot keep other processes from reading this one's memory")]
    Dumpable(#[source] rustix::io::Errno),
    #[error("cannot disable core dumps")]
    Core(#[source] rustix::io::Errno),
    #[error("cannot give up the right to gain privileges")]
    NewPrivileges(#[source] rustix::io::Errno),
}

/// Hardens this process. Call it first in `main`: an exec makes a process readable again.
///
/// Other processes of the same user can no longer trace it or read its memory, its environment and its
/// descriptors. It leaves no core dump, and no program that it starts gains privileges by being executed.
pub fn harden() -> Result<(), HardeningError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(HardeningError::Dumpable)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(HardeningError::Core)?;
    set_no_new_privs(true).map_err(HardeningError::NewPrivileges)
}
