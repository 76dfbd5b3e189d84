//! Landlock: which files the command may touch, whom it may signal, which sockets it may reach.
//!
//! In tier A this is the second wall behind the namespaces. In tier B it is the first, and without scopes
//! there is no tier B.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::private_home::PrivateHome;
use super::spawning::Prepared;
use super::system_view::SYSTEM;
use super::{devices, etc};
use crate::command::HOME;
use crate::settings::Tier;
use crate::step::{Step, StepError};

/// The newest version whose rights are asked for; an older kernel grants what it has.
const NEWEST: ABI = ABI::V6;

/// Confines the process that becomes the command.
pub fn confine(prepared: &Prepared<'_>, home: Option<&PrivateHome>) -> Result<(), StepError> {
    match prepared.tier {
        Tier::A => apply(CompatLevel::BestEffort, true, &inside_tier_a(prepared)).map(drop).map_err(failed),
        Tier::B => {
            let rules = inside_tier_b(prepared, home);
            let network = prepared.settings.network;
            wholly(apply(CompatLevel::HardRequirement, network, &rules).map_err(failed)?)
        }
    }
}

/// Puts a domain around the keeper and all that comes from it, which takes nothing away but signals to the
/// outside; only its inhabitants can then be reached by a signal to everybody.
pub fn surround() -> Result<(), StepError> {
    let domain = || {
        let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        required.scope(Scope::Signal)?.create()?.restrict_self()
    };
    wholly(domain().map_err(failed)?.ruleset)
}

/// Confirms that the kernel knows the scopes that tier B rests on.
pub fn confirm_scopes() -> Result<(), StepError> {
    let known = || {
        let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        required.scope(Scope::from_all(NEWEST))?.create()
    };
    known().map(drop).map_err(|_| StepError::from_errno(Step::LandlockMissing, libc::ENOSYS))
}

fn wholly(status: RulesetStatus) -> Result<(), StepError> {
    match status {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(StepError::from_errno(Step::Landlock, libc::ENOSYS)),
    }
}

type Rules = Vec<(PathBuf, BitFlags<AccessFs>)>;

/// The view holds only what may be seen, so reading is allowed everywhere in it.
fn inside_tier_a(prepared: &Prepared<'_>) -> Rules {
    let mut rules = vec![
        ("/".into(), reading()),
        ("/tmp".into(), changing()),
        (HOME.into(), changing()),
        ("/dev/shm".into(), changing()),
        ("/dev".into(), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev),
    ];
    rules.extend(roots(prepared));
    rules
}

/// The machine's own tree lies open, so each place is named.
fn inside_tier_b(prepared: &Prepared<'_>, home: Option<&PrivateHome>) -> Rules {
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let accounts = ["passwd", "group", "hosts", "hostname"];
    let resolver = prepared.settings.network.then_some("resolv.conf");
    let etc = etc::FILES.into_iter().chain(etc::DIRECTORIES).chain(accounts).chain(resolver);
    let mut rules: Rules = SYSTEM.iter().map(|path| (path.into(), reading())).collect();
    rules.extend(etc.map(|name| (Path::new("/etc").join(name), reading())));
    rules.extend(devices::DEVICES.map(|name| (Path::new("/dev").join(name), device)));
    rules.push(("/proc".into(), AccessFs::ReadFile | AccessFs::ReadDir));
    rules.extend(
        home.into_iter().flat_map(|home| [home.home(), home.temporary()]).map(|path| (path, changing())),
    );
    rules.extend(roots(prepared));
    rules
}

fn roots(prepared: &Prepared<'_>) -> Rules {
    let writable = prepared.settings.roots.iter().map(|root| (root.path.clone(), changing()));
    let readable = prepared.settings.readonly_roots.iter().map(|root| (root.path.clone(), reading()));
    writable.chain(readable).collect()
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute
}

/// Everything but devices: neither made nor controlled.
fn changing() -> BitFlags<AccessFs> {
    let mut rights = AccessFs::from_all(NEWEST);
    rights.remove(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    rights
}

/// The answer is not looked at in tier A, whose weight the namespaces carry.
fn apply(level: CompatLevel, network: bool, rules: &Rules) -> Result<RulesetStatus, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let mut created = ruleset.create()?;
    for (path, rights) in rules {
        created = allow(created, path, *rights)?;
    }
    created.restrict_self().map(|status| status.ruleset)
}

/// A place that this machine has not needs no rule.
fn allow(
    created: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(created) };
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(NEWEST) };
    created.add_rule(PathBeneath::new(place, rights))
}

/// The kernel's answer lies somewhere below the library's own error.
fn failed(error: RulesetError) -> StepError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(errno) = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error) {
            return StepError::from_errno(Step::Landlock, errno);
        }
        cause = error.source();
    }
    StepError { step: Step::Landlock, answer: std::io::Error::other(error) }
}
