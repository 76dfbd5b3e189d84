//! The server's own confinement: Landlock on itself, before it opens its first connection.
//!
//! Whatever a mistake in a file tool would do, the kernel lets this process reach its roots, its journal
//! and its output, execute nothing, open no outgoing connection and signal nobody outside. At this ABI the
//! rules hold for the calling thread and the threads that it starts, so it is called before the runtime.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// The newest ABI whose rights are asked for; an older kernel grants what it has.
const NEWEST_ABI: ABI = ABI::V6;

/// The directories that stay within reach.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// To read and to write, without executing.
    pub read_write: Vec<PathBuf>,
    /// To read.
    pub read_only: Vec<PathBuf>,
}

/// What the kernel granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// All rights that were asked for are enforced.
    Full,
    /// This kernel knows only some of them.
    Partial,
    /// This kernel has no Landlock.
    None,
}

/// Which step failed.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel did not take the set of handled rights.
    #[error("Landlock: the rules could not be created")]
    Create(#[source] RulesetError),
    /// A directory could not be added.
    #[error("Landlock: a directory could not be added to the rules")]
    Allow(#[source] RulesetError),
    /// The rules could not be put in force.
    #[error("Landlock: the rules could not be put in force")]
    Enforce(#[source] RulesetError),
}

/// Confines this thread, and every thread it starts from now on, to `reach`. It cannot be undone.
pub fn confine_this_thread(reach: &Reach) -> Result<Confinement, ConfineError> {
    let mut rights: BitFlags<AccessFs> = AccessFs::from_all(NEWEST_ABI);
    rights.remove(AccessFs::Execute);
    let status = ruleset()
        .map_err(ConfineError::Create)?
        .add_rules(path_beneath_rules(&reach.read_write, rights))
        .and_then(|rules| {
            let reading = AccessFs::ReadFile | AccessFs::ReadDir;
            rules.add_rules(path_beneath_rules(&reach.read_only, reading))
        })
        .map_err(ConfineError::Allow)?
        .restrict_self()
        .map_err(ConfineError::Enforce)?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, LandlockStatus::Available { .. }) => Confinement::Full,
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => Confinement::None,
        _ => Confinement::Partial,
    })
}

fn ruleset() -> Result<landlock::RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::from_all(NEWEST_ABI))?
        .create()
}
