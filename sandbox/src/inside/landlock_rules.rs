//! Landlock: which files the command may access, which processes it may signal, which sockets it may use.
//!
//! In tier A this is the second wall behind the namespaces. In tier B it is the first, and without scopes
//! there is no tier B.

use std::path::{Path, PathBuf};

use landlock::{
    Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use process::confinement::{NEWEST_ABI, all_tcp, ruleset};

use super::context::SpawnerContext;
use super::private_home::PrivateHome;
use super::system_mounts::SYSTEM_DIRECTORIES;
use super::{devices, etc};
use crate::command::HOME;
use crate::settings::{Network, Tier};
use crate::step::{Step, StepError};

pub(super) fn confine(spawner: &SpawnerContext<'_>, home: Option<&PrivateHome>) -> Result<(), StepError> {
    match spawner.tier {
        // The status does not matter here, because tier A relies on its namespaces.
        Tier::A => {
            // A command that is kept to public addresses makes no connection itself: the connector does.
            let tcp = if spawner.settings.network == Network::Public { all_tcp() } else { BitFlags::empty() };
            enforce(CompatLevel::BestEffort, tcp, &rules_of_tier_a(spawner)).map(drop).map_err(failed)
        }
        Tier::B => {
            let rules = rules_of_tier_b(spawner, home);
            let tcp = if spawner.settings.network == Network::All { BitFlags::empty() } else { all_tcp() };
            require_full(enforce(CompatLevel::HardRequirement, tcp, &rules).map_err(failed)?)
        }
    }
}

/// Puts a domain around init and its descendants. It only forbids signals to the outside, so that a signal
/// to every process reaches only the domain.
pub(super) fn scope_signals() -> Result<(), StepError> {
    let domain = requiring(Scope::Signal.into()).and_then(RulesetCreated::restrict_self);
    require_full(domain.map_err(failed)?.ruleset)
}

/// Confirms that the kernel has the scopes that tier B relies on.
pub(super) fn confirm_scopes() -> Result<(), StepError> {
    let scopes = requiring(Scope::from_all(NEWEST_ABI));
    scopes.map(drop).map_err(|_| StepError::new(Step::LandlockMissing, libc::ENOSYS))
}

fn requiring(scopes: BitFlags<Scope>) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(scopes)?.create()
}

fn require_full(status: RulesetStatus) -> Result<(), StepError> {
    match status {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(StepError::new(Step::Landlock, libc::ENOSYS)),
    }
}

type Rules = Vec<(PathBuf, BitFlags<AccessFs>)>;

/// The mounted tree has only what a command may see, so reading is allowed everywhere in it.
fn rules_of_tier_a(spawner: &SpawnerContext<'_>) -> Rules {
    let mut rules = vec![
        ("/".into(), reading()),
        ("/tmp".into(), changing()),
        (HOME.into(), changing()),
        ("/dev/shm".into(), changing()),
        ("/dev".into(), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev),
    ];
    rules.extend(roots(spawner));
    rules
}

/// The command sees the machine's own tree, so each allowed path is named.
fn rules_of_tier_b(spawner: &SpawnerContext<'_>, home: Option<&PrivateHome>) -> Rules {
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let accounts = ["passwd", "group", "hosts", "hostname"];
    let resolver = (spawner.settings.network == Network::All).then_some("resolv.conf");
    let etc = etc::FILES.into_iter().chain(etc::DIRECTORIES).chain(accounts).chain(resolver);
    let mut rules: Rules = SYSTEM_DIRECTORIES.iter().map(|path| (path.into(), reading())).collect();
    rules.extend(etc.map(|name| (Path::new("/etc").join(name), reading())));
    let devices = devices::DEVICES.into_iter().chain([devices::OWN_TERMINAL]);
    rules.extend(devices.map(|name| (Path::new("/dev").join(name), device)));
    rules.push(("/proc".into(), AccessFs::ReadFile | AccessFs::ReadDir));
    rules.extend(home.into_iter().flat_map(|home| [home.home(), home.tmp()]).map(|path| (path, changing())));
    rules.extend(roots(spawner));
    rules
}

fn roots(spawner: &SpawnerContext<'_>) -> Rules {
    let writable = spawner.settings.roots.iter().map(|root| (root.path.clone(), changing()));
    let readable = spawner.settings.readonly_roots.iter().map(|root| (root.path.clone(), reading()));
    writable.chain(readable).collect()
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute
}

/// Everything except creating and controlling devices.
fn changing() -> BitFlags<AccessFs> {
    let mut rights = AccessFs::from_all(NEWEST_ABI);
    rights.remove(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    rights
}

fn enforce(
    level: CompatLevel,
    tcp: BitFlags<AccessNet>,
    rules: &Rules,
) -> Result<RulesetStatus, RulesetError> {
    let mut created = ruleset(level, tcp)?;
    for (path, rights) in rules {
        // A path that does not exist on this machine needs no rule.
        if let Ok(handle) = PathFd::new(path) {
            let rights = if path.is_dir() { *rights } else { *rights & AccessFs::from_file(NEWEST_ABI) };
            created = created.add_rule(PathBeneath::new(handle, rights))?;
        }
    }
    created.restrict_self().map(|status| status.ruleset)
}

/// The kernel's error number is a source of the library's own error.
fn failed(error: RulesetError) -> StepError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(errno) = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error) {
            return StepError::new(Step::Landlock, errno);
        }
        cause = error.source();
    }
    StepError::new(Step::Landlock, libc::EIO)
}
