//! The server's own confinement: it puts Landlock on itself before it opens its first connection.
//!
//! Even if a file tool has a bug, the kernel lets this process access only its roots, journal and output,
//! execute nothing, open no outgoing connection and signal no other process. At this ABI the rules apply to
//! the calling thread and the threads it starts, so this is called before the async runtime exists.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// The newest ABI whose rights we ask for; an older kernel grants those it knows.
pub(crate) const NEWEST_ABI: ABI = ABI::V6;

/// The directories that the server keeps access to.
#[derive(Debug, Clone, Default)]
pub struct AllowedPaths {
    /// Read and write, without execution.
    pub read_write: Vec<PathBuf>,
    /// Read.
    pub read_only: Vec<PathBuf>,
}

/// What the kernel granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// All rights that we asked for are enforced.
    Full,
    /// This kernel knows only some of them.
    Partial,
    /// This kernel has no Landlock.
    None,
}

/// Which step failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConfineError {
    #[error("cannot create the Landlock rules")]
    Create(#[source] RulesetError),
    #[error("cannot add a directory to the Landlock rules")]
    Allow(#[source] RulesetError),
    #[error("cannot enforce the Landlock rules")]
    Enforce(#[source] RulesetError),
}

/// Confines this thread, and every thread it starts from now on, to `paths`. This cannot be undone.
pub fn confine_this_thread(paths: &AllowedPaths) -> Result<Confinement, ConfineError> {
    let mut rights: BitFlags<AccessFs> = AccessFs::from_all(NEWEST_ABI);
    rights.remove(AccessFs::Execute);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let status = ruleset(CompatLevel::BestEffort, false)
        .map_err(ConfineError::Create)?
        .add_rules(path_beneath_rules(&paths.read_write, rights))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&paths.read_only, reading)))
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

/// Rules that allow nothing yet: no file, no signal or abstract socket outside, and no TCP unless `network`.
pub(crate) fn ruleset(level: CompatLevel, network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?;
    if !network {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    rules.create()
}
