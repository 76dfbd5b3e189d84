//! The monitor: holds the lifeline of one sandbox from outside its namespaces.
//!
//! It ends the init process when the server closes the lifeline or dies. It reports the end of a command
//! only when init could not do so itself.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, getegid, geteuid, pidfd_open, set_parent_process_death_signal, setsid,
};
use rustix::thread::set_name;

use super::context::{CommandContext, SpawnerContext};
use super::{init, namespaces, private_home::PrivateHome};
use crate::messages::{Outcome, Report};
use crate::settings::Tier;
use crate::step::{During as _, Failure, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// How long init may take in tier A to end all processes, so that their usage is counted, before its own end
/// ends them.
const INIT_GRACE: Duration = Duration::from_millis(50);

/// Runs as the monitor of one sandbox until its command ended, or until nobody wants one any more. `control`
/// is the socket to the server.
pub(super) fn run(spawner: &SpawnerContext<'_>, control: OwnedFd) -> ! {
    let outcome = start_init(spawner, &control)
        .and_then(|init| follow(&control, init, spawner.tier))
        .map_err(Failure::from);
    // If init reported, this comes too late and is not read.
    outcome.map_or_else(Report::Failed, Report::Done).send(&control);
    syscalls::exit(0)
}

/// The init process, and what must exist until it ended.
struct InitProcess {
    pid: i32,
    handle: OwnedFd,
    /// Init ends when this is closed.
    leash: OwnedFd,
    _home: Option<PrivateHome>,
}

fn start_init(spawner: &SpawnerContext<'_>, control: &OwnedFd) -> Result<InitProcess, StepError> {
    let _ = set_name(c"monitor");
    syscalls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    // Sandboxes that wait end with the spawner.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let home = match spawner.tier {
        Tier::A => None,
        Tier::B => Some(PrivateHome::in_directory(&spawner.settings.scratch)),
    };
    let (leash, held) = pipe_with(PipeFlags::CLOEXEC).during(Step::Socket)?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let fork = match spawner.tier {
        Tier::A => syscalls::fork_into(namespaces::clone_flags(spawner.settings.network)),
        Tier::B => syscalls::fork(),
    };
    match fork.during(Step::Namespaces)? {
        ForkResult::Parent(pid) => {
            let handle = Pid::from_raw(pid).ok_or(Errno::SRCH);
            let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())).during(Step::Reaper)?;
            Ok(InitProcess { pid, handle, leash: held, _home: home })
        }
        ForkResult::Child => {
            drop(held);
            let home = home.as_ref();
            init::run(&CommandContext { spawner, user, group, home, control: control.as_fd(), leash })
        }
    }
}

/// Waits until init ended or the lifeline closed, whichever comes first.
fn follow(control: &OwnedFd, init: InitProcess, tier: Tier) -> Result<Outcome, StepError> {
    let killed = loop {
        // Only init reads from the socket; here it counts only whether the server closed its end.
        let mut watched = [PollFd::new(control, PollFlags::RDHUP), PollFd::new(&init.handle, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).during(Step::Reaper),
            Ok(_) => break watched[1].revents().is_empty(),
        }
    };
    let InitProcess { pid, handle, leash, _home } = init;
    drop(leash);
    // In tier B init is never killed from here: nobody else could end the rest.
    if tier == Tier::A {
        let grace = Timespec::try_from(INIT_GRACE).ok();
        let _ = poll(&mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)], grace.as_ref());
        let _ = syscalls::kill(pid, libc::SIGKILL);
    }
    let (_, usage) = syscalls::wait_for(pid).during(Step::Reaper)?;
    let (cpu_micros, peak_kib) = (usage.cpu_micros, usage.peak_kib);
    Ok(Outcome { status: libc::SIGKILL, killed, cpu_micros, peak_kib, ..Outcome::default() })
}
