//! The init process: the first process inside. It sets up what the command sees, starts the command, reaps
//! processes, and takes all of them with it when it ends.
//!
//! In tier A it is process 1 of its namespace, so the kernel ends the rest. In tier B it is in a Landlock
//! domain around the command's: it may signal every descendant of the command, wherever that moved, and
//! nothing else, while nothing in there may signal it.

use std::fs;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};
use rustix::thread::set_name;

use super::context::CommandContext;
use super::{command_mounts, covers, descriptors, landlock_rules, launch, limits, namespaces};
use crate::messages::{Job, Report, decode, encode};
use crate::settings::Tier;
use crate::step::{During as _, Failure, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// How long background processes may still write after the command ended by itself.
const BACKGROUND_GRACE: Duration = Duration::from_millis(100);

/// How many processes are reaped before the monitor's socket is checked again.
const REAP_BATCH: u32 = 64;

pub(super) fn run(context: &CommandContext<'_>, job: &Job) -> ! {
    match start(context, job) {
        Ok((command, child_signals)) => {
            Report::Started.send(&context.monitor);
            reap_until_done(command, &child_signals, &context.monitor);
            kill_everything();
        }
        Err(failure) => Report::Failed(failure).send(&context.monitor),
    }
    syscalls::exit(0)
}

/// Sets up the command's surroundings and starts it; returns its ID and the descriptor of child signals.
fn start(context: &CommandContext<'_>, job: &Job) -> Result<(i32, OwnedFd), Failure> {
    let _ = set_name(c"init");
    let kept = [context.stdout.as_fd(), context.stderr.as_fd(), context.monitor.as_fd()];
    descriptors::close_all_but(&kept).during(Step::Descriptors)?;
    match context.spawner.tier {
        Tier::A => {
            // Now, because /proc will be read-only. If the kernel kills init, the whole command ends.
            limits::prefer_for_oom_kill();
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            namespaces::write_id_maps(context.user, context.group)?;
            namespaces::set_up_host(context.spawner.settings.network)?;
            command_mounts::set_up(context.spawner)?;
            covers::mount(job.covers())?;
        }
        Tier::B => {
            set_child_subreaper(Some(getpid())).during(Step::Reaper)?;
            landlock_rules::scope_signals()?;
            confirm_signal_scope()?;
        }
    }
    // Nobody inside may look into this process: its memory once was the server's.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Step::Reaper)?;
    let child_signals = syscalls::child_signals().during(Step::Reaper)?;
    let command = fork_command(context, job)?;
    // Only the command's own processes may hold its output open: the server reads it to its end.
    descriptors::silence()
        .and_then(|()| descriptors::close_all_but(&[child_signals.as_fd(), context.monitor.as_fd()]))
        .during(Step::Descriptors)?;
    Ok((command, child_signals))
}

/// Confirms that signals to the outside are refused, before `kill_everything` signals every process it can.
fn confirm_signal_scope() -> Result<(), StepError> {
    let Some(monitor) = getppid() else { return Err(StepError::new(Step::Reaper, libc::ESRCH)) };
    match syscalls::kill(monitor.as_raw_nonzero().get(), 0) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
        _ => Err(StepError::new(Step::LandlockMissing, libc::ENOSYS)),
    }
}

/// Forks the command and waits until the program was executed or a step failed.
fn fork_command(context: &CommandContext<'_>, job: &Job) -> Result<i32, Failure> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).during(Step::Socket)?;
    let command = match syscalls::fork().during(Step::Fork)? {
        ForkResult::Parent(command) => command,
        ForkResult::Child => {
            drop(reader);
            let Err(error) = launch::become_command(context, job);
            let _ = rustix::io::write(&writer, &encode(&Report::Failed(error.into())));
            syscalls::exit(127)
        }
    };
    drop(writer);
    let mut failure = Vec::new();
    fs::File::from(reader).read_to_end(&mut failure).during(Step::Exec)?;
    match decode(&failure) {
        Some(Report::Failed(failure)) => Err(failure),
        _ => Ok(command),
    }
}

/// Waits for the command, then briefly for its background processes. It checks the monitor's socket in every
/// round: a fork bomb ends so many processes that reaping them all would leave no time for that.
fn reap_until_done(command: i32, child_signals: &OwnedFd, monitor: &OwnedFd) {
    let mut deadline: Option<Instant> = None;
    let mut more = true;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero())
            || monitor_closed(child_signals, monitor, if more { Some(Duration::ZERO) } else { left })
        {
            return;
        }
        match reap(command) {
            Reaped::Everything => return,
            Reaped::Command(status) => {
                Report::Ended(status).send(monitor);
                deadline = Some(Instant::now() + BACKGROUND_GRACE);
                more = true;
            }
            Reaped::Some => more = true,
            Reaped::Nothing => more = false,
        }
    }
}

enum Reaped {
    Command(i32),
    Some,
    Nothing,
    Everything,
}

fn reap(command: i32) -> Reaped {
    for round in 0..REAP_BATCH {
        match wait(WaitOptions::NOHANG) {
            Err(_) => return Reaped::Everything,
            Ok(None) if round == 0 => return Reaped::Nothing,
            Ok(None) => return Reaped::Some,
            Ok(Some((process, status))) if process.as_raw_nonzero().get() == command => {
                return Reaped::Command(status.as_raw());
            }
            Ok(Some(_)) => {}
        }
    }
    Reaped::Some
}

/// Waits until a child ends or the monitor closes its socket; true if it closed.
fn monitor_closed(child_signals: &OwnedFd, monitor: &OwnedFd, timeout: Option<Duration>) -> bool {
    let mut watched = [PollFd::new(child_signals, PollFlags::IN), PollFd::new(monitor, PollFlags::IN)];
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let _ = poll(&mut watched, timeout.as_ref());
    let _ = rustix::io::read(child_signals, &mut [0_u8; 1024]);
    !watched[1].revents().is_empty()
}

/// Kills and reaps all processes inside, which also counts their usage. The signal goes to every process
/// that init may signal: its namespace, or its domain, which `confirm_signal_scope` checked. The kernel
/// signals all of them while none can fork, so once is enough; repeating it costs little.
fn kill_everything() {
    loop {
        let _ = syscalls::kill(-1, libc::SIGKILL);
        for _ in 0..REAP_BATCH {
            if wait(WaitOptions::empty()).is_err() {
                return;
            }
        }
    }
}
