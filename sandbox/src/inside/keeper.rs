//! The keeper: the first process inside. It completes the view, starts the command, clears ended processes
//! away, and takes everything with it when it ends.
//!
//! In tier A it is process 1 of its namespace, so the kernel ends the rest. In tier B it stands in a
//! Landlock domain around the command's: it may signal whatever came from the command, wherever that went,
//! and nothing else, while nothing in there may signal it.

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

use super::private_home::PrivateHome;
use super::search::Found;
use super::spawning::Prepared;
use super::watcher::report;
use super::{descriptors, identity, launch, limits, private_view, rights};
use crate::calls::{self, Side};
use crate::messages::{Job, Report};
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// How long processes that the command left behind may still write, once it ended by itself.
const AFTERMATH: Duration = Duration::from_millis(100);

/// How many ended processes are cleared away before the line is looked at again.
const REAPED_AT_ONCE: u32 = 64;

/// What the keeper is given.
pub struct Inside<'a> {
    /// What all commands share.
    pub prepared: &'a Prepared<'a>,
    /// What the search of the roots brought.
    pub found: &'a [Found],
    /// The user, as outside.
    pub user: u32,
    /// The user's group, as outside.
    pub group: u32,
    /// The home on disk, in tier B.
    pub home: Option<&'a PrivateHome>,
    /// The command's output.
    pub stdout: OwnedFd,
    /// The command's errors.
    pub stderr: OwnedFd,
    /// The line to the watcher.
    pub report: OwnedFd,
}

/// Lives as the keeper until the command and all that came from it ended.
pub fn keep(inside: &Inside<'_>, job: &Job) -> ! {
    match start(inside, job) {
        Ok((command, ended)) => {
            report(&inside.report, &Report::Started);
            clear_away(command, &ended, &inside.report);
            end_all();
        }
        Err(error) => report(&inside.report, &Report::Failed(error)),
    }
    calls::exit(0)
}

/// Sets up what is around the command, then starts it; returns its id and where ended children show.
fn start(inside: &Inside<'_>, job: &Job) -> Result<(i32, OwnedFd), StepError> {
    let _ = set_name(c"keeper");
    let kept = [inside.stdout.as_fd(), inside.stderr.as_fd(), inside.report.as_fd()];
    descriptors::close_all_but(&kept).during(Step::Descriptors)?;
    match inside.prepared.tier {
        Tier::A => {
            // Inside, /proc will be read-only. If this process is chosen, all that it keeps ends with it.
            limits::be_ended_first();
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            identity::map(inside.user, inside.group)?;
            identity::own_host(inside.prepared.settings.network)?;
            private_view::complete(inside.prepared, inside.found)?;
        }
        Tier::B => {
            set_child_subreaper(Some(getpid())).during(Step::Reaper)?;
            rights::surround()?;
            stand_alone()?;
        }
    }
    // Nobody inside may look into this process: its memory once was the server's.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Step::Reaper)?;
    let ended = calls::child_signals().during(Step::Reaper)?;
    let command = launch(inside, job)?;
    // The server's readers reach the end when the command's own processes have closed these.
    descriptors::silence()
        .and_then(|()| descriptors::close_all_but(&[ended.as_fd(), inside.report.as_fd()]))
        .during(Step::Descriptors)?;
    Ok((command, ended))
}

/// Confirms that signals to the outside are refused, before this process ever sends one to everybody.
fn stand_alone() -> Result<(), StepError> {
    let Some(watcher) = getppid() else { return Err(StepError::from_errno(Step::Reaper, libc::ESRCH)) };
    match calls::kill(watcher.as_raw_nonzero().get(), 0) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
        _ => Err(StepError::from_errno(Step::LandlockMissing, libc::ENOSYS)),
    }
}

/// Forks the command and waits until it was executed or says why not.
fn launch(inside: &Inside<'_>, job: &Job) -> Result<i32, StepError> {
    let (answer, failure) = pipe_with(PipeFlags::CLOEXEC).during(Step::Socket)?;
    let command = match calls::fork().during(Step::Fork)? {
        Side::Parent(command) => command,
        Side::Child => {
            drop(answer);
            let error = launch::become_command(inside, job);
            let _ = rustix::io::write(&failure, &Report::Failed(error).encode());
            calls::exit(127)
        }
    };
    drop(failure);
    let mut failed = Vec::new();
    fs::File::from(answer).read_to_end(&mut failed).during(Step::Exec)?;
    match Report::decode(&failed) {
        Some(Report::Failed(error)) => Err(error),
        _ => Ok(command),
    }
}

/// Waits for the command, then for what it left behind, but not for long. The line is looked at in every
/// round: a fork bomb ends so many processes that clearing them away would never leave time for it.
fn clear_away(command: i32, ended: &OwnedFd, line: &OwnedFd) {
    let mut deadline: Option<Instant> = None;
    let mut more = true;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero())
            || let_go(ended, line, if more { Some(Duration::ZERO) } else { left })
        {
            return;
        }
        match reap(command) {
            Reaped::Everything => return,
            Reaped::Command(status) => {
                report(line, &Report::Ended(status));
                deadline = Some(Instant::now() + AFTERMATH);
                more = true;
            }
            Reaped::Some => more = true,
            Reaped::Nothing => more = false,
        }
    }
}

/// What one round of clearing away brought.
enum Reaped {
    Command(i32),
    Some,
    Nothing,
    Everything,
}

/// Clears ended processes away, but only so many.
fn reap(command: i32) -> Reaped {
    for round in 0..REAPED_AT_ONCE {
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

/// Waits for a child to end or for the watcher to let go of the line, and says whether it did.
fn let_go(ended: &OwnedFd, line: &OwnedFd, patience: Option<Duration>) -> bool {
    let mut watched =
        [PollFd::new(ended, PollFlags::IN), PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)];
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    let _ = poll(&mut watched, patience.as_ref());
    let _ = rustix::io::read(ended, &mut [0_u8; 1024]);
    !watched[1].revents().is_empty()
}

/// Ends all processes inside until none is left, and so counts what they used. The signal goes to everybody
/// whom this process may signal: its namespace, or its domain, which `stand_alone` confirmed. The kernel
/// sends it to all of them while none can fork, so one signal is enough; that it is repeated costs little.
fn end_all() {
    loop {
        let _ = calls::kill(-1, libc::SIGKILL);
        for _ in 0..REAPED_AT_ONCE {
            if wait(WaitOptions::empty()).is_err() {
                return;
            }
        }
    }
}
