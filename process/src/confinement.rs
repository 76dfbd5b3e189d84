//! The confinement of our own programs: each keeps only the powers that it names, before it reads its first
//! input.
//!
//! Three layers, none of which can be undone: Landlock for files, signals and TCP, no capabilities, and a
//! system call filter. Even if a program is taken over, it can start and signal no process, look into none,
//! and open no other file. At this ABI Landlock applies to the calling thread and the threads that it
//! starts, so this is called before the async runtime exists.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::seccomp::own::{self, Family};
use crate::seccomp::{assemble, install};

/// The newest ABI whose rights we ask for; an older kernel grants those it knows.
pub const NEWEST_ABI: ABI = ABI::V6;

/// What the C library reads to turn a name into addresses: its settings, the servers' addresses that the
/// common programs for networks keep elsewhere, and the libraries that it loads for it.
///
/// Certificates are not among them, because their roots are part of the programs.
const RESOLVER: [&str; 15] = [
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/ld.so.cache", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf",
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
];

/// What a program keeps.
#[derive(Debug, Clone, Default)]
pub struct Powers {
    /// Files and directories to read and change, without execution.
    pub read_write: Vec<PathBuf>,
    /// Files and directories to read.
    pub read_only: Vec<PathBuf>,
    /// Whether it opens connections to the network, and may read what that needs.
    pub connections: bool,
    /// Whether it forks itself. What it forks starts with its powers, and calls [`end_forks`] first.
    pub forks: bool,
}

impl Powers {
    /// Opens connections, and nothing else.
    pub fn only_connections() -> Self {
        Self { connections: true, ..Self::default() }
    }

    /// Opens connections and forks itself, and nothing else.
    pub fn connections_and_forks() -> Self {
        Self { connections: true, forks: true, ..Self::default() }
    }
}

/// Whether a file that the resolver needs was replaced since this process confined itself, so that it can
/// no longer be read: rules of Landlock belong to a file, not to its name.
pub fn lost_resolver() -> bool {
    const SERVERS: &str = "/etc/resolv.conf";
    matches!(std::fs::File::open(SERVERS), Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Whether this kernel has Landlock with all the rights that we ask for.
pub fn is_landlock_complete() -> bool {
    let rules = ruleset(CompatLevel::HardRequirement, all_tcp());
    rules.is_ok()
}

/// What the kernel's Landlock grants. The other layers are always in force.
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
    #[error("cannot drop the capabilities")]
    Capabilities(#[source] rustix::io::Errno),
    #[error("cannot install the system call filter")]
    Filter(#[source] std::io::Error),
}

/// Confines this process, which has one thread and was hardened, to these powers. This cannot be undone.
pub fn confine(powers: &Powers) -> Result<Confinement, ConfineError> {
    let landlock = confine_files(powers)?;
    let changes_files = !powers.read_write.is_empty();
    drop_capabilities(changes_files).map_err(ConfineError::Capabilities)?;
    let family = if powers.forks { Family::Forks } else { Family::Alone(std::process::id()) };
    filter(family, powers.connections, changes_files)?;
    Ok(landlock)
}

/// Gives up to fork, in a process that was forked by one that forks and opens connections.
pub fn end_forks() -> Result<(), ConfineError> {
    filter(Family::Alone(std::process::id()), true, false)
}

fn filter(family: Family, connections: bool, changes_files: bool) -> Result<(), ConfineError> {
    let rules = own::rules(family, connections, changes_files);
    assemble(&rules).and_then(|filter| install(&filter)).map_err(ConfineError::Filter)
}

fn confine_files(powers: &Powers) -> Result<Confinement, ConfineError> {
    let tcp = if powers.connections { AccessNet::BindTcp.into() } else { all_tcp() };
    let rules = ruleset(CompatLevel::BestEffort, tcp).map_err(ConfineError::Create)?;
    let mut rights: BitFlags<AccessFs> = AccessFs::from_all(NEWEST_ABI);
    rights.remove(AccessFs::Execute);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let resolver = RESOLVER.iter().filter(|_| powers.connections).map(PathBuf::from);
    let read_only: Vec<PathBuf> = powers.read_only.iter().cloned().chain(resolver).collect();
    let status = rules
        .add_rules(path_beneath_rules(&powers.read_write, rights))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&read_only, reading)))
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

/// Root keeps what changing other users' files needs, if it changes files at all.
fn drop_capabilities(changes_files: bool) -> Result<(), rustix::io::Errno> {
    let kept = if changes_files {
        CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::DAC_READ_SEARCH
            | CapabilitySet::FOWNER
            | CapabilitySet::FSETID
    } else {
        CapabilitySet::empty()
    };
    let held = rustix::thread::capabilities(None)?;
    let kept = kept & held.permitted;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)
}

/// Both directions of TCP.
pub fn all_tcp() -> BitFlags<AccessNet> {
    AccessNet::BindTcp | AccessNet::ConnectTcp
}

/// Rules that allow nothing yet: no file, no signal or abstract socket outside, and nothing of `tcp`.
pub fn ruleset(level: CompatLevel, tcp: BitFlags<AccessNet>) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?;
    if !tcp.is_empty() {
        rules = rules.handle_access(tcp)?;
    }
    rules.create()
}
