//! The monitor: holds one command's lifeline from outside its namespaces.
//!
//! It ends the init process when the server closes the lifeline or dies, and reports how the command ended.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getegid, geteuid, pidfd_open, setsid};
use rustix::thread::set_name;

use super::context::{CommandContext, SpawnerContext};
use super::fd_passing::CommandRequest;
use super::{init, namespaces, private_home::PrivateHome};
use crate::messages::{Job, Outcome, Report, decode, socket_pair};
use crate::settings::Tier;
use crate::step::{During as _, Failure, Step, StepError};
use crate::syscalls::{self, ChildExit, ForkResult};

/// The longest request: more than the kernel's limits on an argument list and on mounts allow.
const MAX_REQUEST_BYTES: u64 = 64 << 20;

/// How long init may take in tier A to end all processes, so that their usage is counted, before its own end
/// ends them.
const INIT_GRACE: Duration = Duration::from_millis(50);

/// Runs as the monitor of one command until the command ended.
pub(super) fn run(spawner: &SpawnerContext<'_>, request: CommandRequest) -> ! {
    let CommandRequest { job, stdout, stderr, control } = request;
    let outcome = start_init(spawner, job, [stdout, stderr])
        .map_err(Failure::from)
        .and_then(|init| follow(&control, init, spawner.tier));
    outcome.map_or_else(Report::Failed, Report::Done).send(&control);
    syscalls::exit(0)
}

/// The init process, and what must exist until it ended.
struct InitProcess {
    pid: i32,
    socket: OwnedFd,
    _home: Option<PrivateHome>,
}

fn start_init(
    spawner: &SpawnerContext<'_>,
    job: OwnedFd,
    [stdout, stderr]: [OwnedFd; 2],
) -> Result<InitProcess, StepError> {
    let _ = set_name(c"monitor");
    syscalls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    let job = read_job(job)?;
    let home = match spawner.tier {
        Tier::A => None,
        Tier::B => Some(PrivateHome::create(&spawner.settings.scratch).during(Step::PrivateDirectories)?),
    };
    let (socket, monitor) = socket_pair().during(Step::Socket)?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let fork = match spawner.tier {
        Tier::A => syscalls::fork_into(namespaces::clone_flags(spawner.settings.network)),
        Tier::B => syscalls::fork(),
    };
    match fork.during(Step::Namespaces)? {
        ForkResult::Parent(pid) => Ok(InitProcess { pid, socket, _home: home }),
        ForkResult::Child => {
            let home = home.as_ref();
            init::run(&CommandContext { spawner, user, group, home, stdout, stderr, monitor }, &job)
        }
    }
}

fn read_job(job: OwnedFd) -> Result<Job, StepError> {
    let mut bytes = Vec::new();
    let mut file = File::from(job);
    file.rewind().during(Step::Request)?;
    file.take(MAX_REQUEST_BYTES).read_to_end(&mut bytes).during(Step::Request)?;
    decode(&bytes).ok_or_else(|| StepError::new(Step::Request, libc::EBADMSG))
}

/// Waits until the command ended or its lifeline closed, whichever comes first.
fn follow(control: &OwnedFd, init: InitProcess, tier: Tier) -> Result<Outcome, Failure> {
    let (mut started, mut status, mut killed) = (false, None, false);
    let mut failed = None;
    loop {
        let mut watched = [PollFd::new(control, PollFlags::IN), PollFd::new(&init.socket, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno).during(Step::Reaper)?,
            Ok(_) => {}
        }
        let lifeline_closed = !watched[0].revents().is_empty();
        if lifeline_closed {
            killed = status.is_none();
            break;
        }
        match Report::receive(&init.socket).ok().flatten() {
            Some(Report::Started) => {
                started = true;
                Report::Started.send(control);
            }
            Some(Report::Ended(ended)) => status = Some(ended),
            Some(Report::Failed(failure)) => failed = Some(failure),
            Some(Report::Done(_)) | None => break,
        }
    }
    let exit = end(init, tier)?;
    match failed {
        Some(failure) => Err(failure),
        None if !started && !killed => Err(StepError::new(Step::Reaper, libc::ECHILD).into()),
        None => Ok(Outcome {
            status: status.unwrap_or(libc::SIGKILL),
            killed,
            cpu_micros: exit.cpu_micros,
            peak_kib: exit.peak_kib,
        }),
    }
}

/// Closes the socket to init and waits until init has ended all processes and itself.
///
/// In tier B init is never killed from here: nobody else could end the rest.
fn end(init: InitProcess, tier: Tier) -> Result<ChildExit, StepError> {
    let InitProcess { pid, socket, _home } = init;
    drop(socket);
    if tier == Tier::A {
        if let Some(Ok(handle)) = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            let grace = Timespec::try_from(INIT_GRACE).ok();
            let _ = poll(&mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)], grace.as_ref());
        }
        let _ = syscalls::kill(pid, libc::SIGKILL);
    }
    syscalls::wait_for(pid).during(Step::Reaper)
}
