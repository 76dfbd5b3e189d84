//! The spawner's main loop: give up everything, prepare what all commands share, then start each sandbox that
//! the server asks for, and look after it.
//!
//! It ends when the server closes its end of the socket; then the lifelines of all commands close too.

use std::os::fd::{AsFd as _, OwnedFd};

use process::parent_pipe::Watched;
use process::sign_of_life::{self, ASKED};
use process::{descriptors, fd_passing};
use rustix::process::{DumpableBehavior, getuid, set_dumpable_behavior, setsid};
use rustix::thread::set_name;

use super::cgroup::Cgroups;
use super::context::SpawnerContext;
use super::private_home::PrivateHome;
use super::sandboxes::Sandboxes;
use super::{landlock_rules, namespaces, system_mounts};
use crate::capabilities::LANDLOCK_WITH_SCOPES;
use crate::messages::Report;
use crate::seccomp;
use crate::settings::{SpawnerSettings, Tier};
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Runs as the spawner until the server is gone.
pub(crate) fn serve(settings: &SpawnerSettings, tier: Tier, socket: OwnedFd, parent: Watched) -> ! {
    match prepare(settings, tier, (&socket, &parent)) {
        Err(error) => Report::Failed(error.into()).send(&socket),
        Ok(context) => {
            Report::Started { has_cgroups: context.cgroups.is_some() }.send(&socket);
            syscalls::tidy_heap();
            let mut sandboxes = Sandboxes::of(&context);
            while sandboxes.until_readable(&socket).is_ok()
                && let Ok(Some((kind, descriptors))) = fd_passing::receive(&socket)
            {
                let mut descriptors = descriptors.into_iter();
                match (descriptors.next(), descriptors.next()) {
                    (Some(asking), None) if kind == ASKED => sign_of_life::answer(&asking),
                    (Some(control), None) => sandboxes.start(control, None),
                    (Some(control), Some(order)) => sandboxes.start(control, Some(&order)),
                    (None, _) => {}
                }
            }
        }
    }
    syscalls::exit(0)
}

fn prepare<'a>(
    settings: &'a SpawnerSettings,
    tier: Tier,
    (socket, parent): (&OwnedFd, &Watched),
) -> Result<SpawnerContext<'a>, StepError> {
    let _ = set_name(c"spawner");
    syscalls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    parent.end_with_parent().during(Step::Session)?;
    let roots = settings.roots.iter().chain(&settings.readonly_roots).map(|root| root.handle.as_fd());
    let kept: Vec<_> = roots.chain([socket.as_fd(), parent.as_fd()]).collect();
    // This closes the server's lifeline, its listener and its journal, among others.
    descriptors::silence().and_then(|()| descriptors::close_all_but(&kept)).during(Step::Descriptors)?;
    syscalls::erase_environment();
    let cgroups = Cgroups::make();
    match tier {
        Tier::A => {
            if !settings.network.is_their_own() {
                // Without a network namespace only Landlock protects the machine's abstract sockets.
                require_scopes()?;
            }
            namespaces::unshare_user_and_mounts()?;
            system_mounts::set_up_and_pivot(settings)?;
        }
        Tier::B => {
            // Without namespaces everything depends on Landlock and on the user's own lack of rights.
            if getuid().is_root() {
                return Err(StepError::new(Step::NotAsRoot, libc::EPERM));
            }
            require_scopes()?;
            // In tier A it is closed as it enters its namespaces.
            set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Step::Dumpable)?;
            PrivateHome::sweep(&settings.scratch);
        }
    }
    let filter = seccomp::filter(tier, settings.network, cgroups.is_some()).during(Step::FilterBuild)?;
    Ok(SpawnerContext { tier, settings, filter, cgroups })
}

/// Without scoped signals, one command could end another's processes.
fn require_scopes() -> Result<(), StepError> {
    match syscalls::landlock_version().during(Step::LandlockMissing)? {
        version if version >= LANDLOCK_WITH_SCOPES => landlock_rules::confirm_scopes(),
        _ => Err(StepError::new(Step::LandlockMissing, libc::ENOSYS)),
    }
}
