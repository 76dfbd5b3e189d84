//! The spawner's main loop: give up everything, prepare what all commands share, then start each sandbox that
//! the server asks for, and look after it.
//!
//! It ends when the server closes its end of the socket; then the lifelines of all commands close too.

use std::os::fd::{AsFd as _, OwnedFd};

use process::descriptors;
use rustix::process::{Signal, getuid, set_parent_process_death_signal, setsid};
use rustix::thread::set_name;

use super::context::SpawnerContext;
use super::private_home::PrivateHome;
use super::sandboxes::Sandboxes;
use super::{fd_passing, landlock_rules, namespaces, system_mounts};
use crate::capabilities::LANDLOCK_WITH_SCOPES;
use crate::messages::Report;
use crate::seccomp;
use crate::settings::{Network, SpawnerSettings, Tier};
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Runs as the spawner until the server is gone.
pub(crate) fn serve(settings: &SpawnerSettings, tier: Tier, socket: OwnedFd) -> ! {
    match prepare(settings, tier, &socket) {
        Err(error) => Report::Failed(error.into()).send(&socket),
        Ok(context) => {
            Report::Started.send(&socket);
            syscalls::tidy_heap();
            let mut sandboxes = Sandboxes::of(&context);
            while sandboxes.until_readable(&socket).is_ok()
                && let Ok(Some([control])) = fd_passing::receive(&socket)
            {
                sandboxes.start(control);
            }
        }
    }
    syscalls::exit(0)
}

fn prepare<'a>(
    settings: &'a SpawnerSettings,
    tier: Tier,
    socket: &OwnedFd,
) -> Result<SpawnerContext<'a>, StepError> {
    let _ = set_name(c"spawner");
    syscalls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let roots = settings.roots.iter().chain(&settings.readonly_roots).map(|root| root.handle.as_fd());
    let kept: Vec<_> = roots.chain([socket.as_fd()]).collect();
    // This closes the server's lifeline, its listener and its journal, among others.
    descriptors::silence().and_then(|()| descriptors::close_all_but(&kept)).during(Step::Descriptors)?;
    syscalls::erase_environment();
    match tier {
        Tier::A => {
            if settings.network != Network::Off {
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
            PrivateHome::sweep(&settings.scratch);
        }
    }
    let filter = seccomp::filter(tier, settings.network).during(Step::FilterBuild)?;
    Ok(SpawnerContext { tier, settings, filter })
}

/// Without scoped signals, one command could end another's processes.
fn require_scopes() -> Result<(), StepError> {
    match syscalls::landlock_version().during(Step::LandlockMissing)? {
        version if version >= LANDLOCK_WITH_SCOPES => landlock_rules::confirm_scopes(),
        _ => Err(StepError::new(Step::LandlockMissing, libc::ENOSYS)),
    }
}
