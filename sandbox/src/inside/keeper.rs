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
use rustix::io::Errno;
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
use super::{identity, launch, private_view, rights};
use crate::calls::{self, Side};
use crate::messages::{Job, Report};
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// How long processes that the command left behind may still write, once it ended by itself.
const AFTERMATH: Duration = Duration::from_millis(100);

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
pub fn keep(inside: Inside<'_>, job: &Job) -> ! {
    let tier = inside.prepared.tier;
    let line = match inside.report.try_clone() {
        Ok(line) => line,
        Err(_) => calls::exit(1),
    };
    match start(inside, job) {
        Ok((command, ended)) => {
            report(&line, &Report::Started);
            clear_away(command, &ended, &line);
        }
        Err(error) => report(&line, &Report::Failed(error)),
    }
    if tier == Tier::B {
        end_all();
    }
    calls::exit(0)
}

/// Sets up what is around the command, then starts it; returns its id and where ended children show.
fn start(inside: Inside<'_>, job: &Job) -> Result<(i32, OwnedFd), StepError> {
    let _ = set_name(c"keeper");
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    match inside.prepared.tier {
        Tier::A => {
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
    let command = launch(&inside, job)?;
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

/// Waits for the command, then for what it left behind, but not for long.
fn clear_away(command: i32, ended: &OwnedFd, line: &OwnedFd) {
    let mut deadline: Option<Instant> = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return,
            Err(_) => return,
            Ok(Some((process, status))) => {
                if process.as_raw_nonzero().get() == command {
                    report(line, &Report::Ended(status.as_raw()));
                    deadline = Some(Instant::now() + AFTERMATH);
                }
                continue;
            }
            Ok(None) => {}
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return;
        }
        let mut watched =
            [PollFd::new(ended, PollFlags::IN), PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)];
        let patience = left.and_then(|left| Timespec::try_from(left).ok());
        let _ = poll(&mut watched, patience.as_ref());
        if !watched[1].revents().is_empty() {
            return;
        }
        let _ = rustix::io::read(ended, &mut [0_u8; 1024]);
    }
}

/// Ends all processes of the domain until none is left. The signal goes to everybody whom this process
/// may signal, which `stand_alone` confirmed to be nobody outside.
fn end_all() {
    loop {
        let _ = calls::kill(-1, libc::SIGKILL);
        if let Err(Errno::CHILD) = wait(WaitOptions::empty()) {
            return;
        }
    }
}
