//! The spawner's life: give everything up, prepare what all commands share, then fork per request.
//!
//! It ends when the server's end of the socket closes, and with it, by their own lifelines, all commands.

use std::os::fd::{AsFd as _, OwnedFd};

use libc::sock_filter;
use rustix::process::{Signal, getuid, set_parent_process_death_signal, setsid};
use rustix::thread::set_name;

use super::private_home::PrivateHome;
use super::search::Index;
use super::{descriptors, handover, identity, rights, system_view, watcher};
use crate::calls::{self, Side};
use crate::messages::Report;
use crate::seccomp;
use crate::settings::{SpawnerSettings, Tier};
use crate::step::{During as _, Step, StepError};

/// The Landlock version that scopes signals, without which one command could end another's processes.
const SCOPED_SIGNALS: i64 = 6;

/// What all commands share.
pub struct Prepared<'a> {
    /// How commands are held.
    pub tier: Tier,
    /// What the spawner was told.
    pub settings: &'a SpawnerSettings,
    /// The system call filter.
    pub filter: Vec<sock_filter>,
}

/// Lives as the spawner until the server is gone.
pub fn serve(settings: &SpawnerSettings, tier: Tier, socket: OwnedFd) -> ! {
    match prepare(settings, tier, &socket) {
        Err(error) => watcher::report(&socket, &Report::Failed(error)),
        Ok(prepared) => {
            watcher::report(&socket, &Report::Started);
            let mut index = Index::default();
            while let Ok(Some(handed)) = handover::receive(&socket) {
                let before = index.search(settings);
                match calls::fork().during(Step::Fork) {
                    Ok(Side::Parent(_)) => {}
                    Ok(Side::Child) => {
                        drop(socket);
                        watcher::hold(&prepared, handed, &mut index, &before)
                    }
                    Err(error) => watcher::report(&handed.control, &Report::Failed(error)),
                }
            }
        }
    }
    calls::exit(0)
}

fn prepare<'a>(
    settings: &'a SpawnerSettings,
    tier: Tier,
    socket: &OwnedFd,
) -> Result<Prepared<'a>, StepError> {
    let _ = set_name(c"spawner");
    calls::default_signals().and_then(|()| calls::ignore_children()).during(Step::Signals)?;
    setsid().during(Step::Session)?;
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let roots = settings.roots.iter().chain(&settings.readonly_roots).map(|root| root.handle.as_fd());
    let kept: Vec<_> = roots.chain([socket.as_fd()]).collect();
    // The server's lifeline, its listener and its journal are among what is closed.
    descriptors::silence().and_then(|()| descriptors::close_all_but(&kept)).during(Step::Descriptors)?;
    calls::erase_environment();
    match tier {
        Tier::A => {
            if settings.network {
                // Without a network namespace only Landlock keeps the machine's abstract sockets away.
                require_scopes()?;
            }
            identity::new_user_and_mounts()?;
            system_view::enter(settings)?;
        }
        Tier::B => {
            require_tier_b()?;
            PrivateHome::sweep(&settings.scratch);
        }
    }
    let filter = seccomp::filter(tier, settings.network).during(Step::FilterBuild)?;
    Ok(Prepared { tier, settings, filter })
}

/// Without namespaces everything rests on Landlock and on the user's own lack of rights.
fn require_tier_b() -> Result<(), StepError> {
    if getuid().is_root() {
        return Err(StepError::from_errno(Step::NotAsRoot, libc::EPERM));
    }
    require_scopes()
}

fn require_scopes() -> Result<(), StepError> {
    match calls::landlock_version().during(Step::LandlockMissing)? {
        version if version >= SCOPED_SIGNALS => rights::confirm_scopes(),
        _ => Err(StepError::from_errno(Step::LandlockMissing, libc::ENOSYS)),
    }
}
