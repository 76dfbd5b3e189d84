//! The watcher: holds one command's lifeline from outside its namespaces.
//!
//! It ends the keeper when the server lets go of the command or dies, tells the server how the command
//! ended, and looks before and after for control files.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, PidfdFlags, getegid, geteuid, pidfd_open, setsid};
use rustix::thread::set_name;

use super::handover::Handed;
use super::search::{Search, search};
use super::spawning::Prepared;
use super::{identity, keeper, private_home::PrivateHome};
use crate::calls::{self, Side};
use crate::messages::{Job, Outcome, Report};
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// The longest request: two argument lists of the kernel's own bound.
const MAX_REQUEST_BYTES: u64 = 8 << 20;

/// How long a keeper of tier B may take to end all processes before it is ended itself.
const KEEPER_GRACE: Duration = Duration::from_secs(2);

/// Lives as the watcher of one command until it ended.
pub fn hold(prepared: &Prepared<'_>, handed: Handed) -> ! {
    let control = match handed.control.try_clone() {
        Ok(control) => control,
        Err(_) => calls::exit(1),
    };
    let last = match watch_over(prepared, handed) {
        Ok(outcome) => Report::Done(outcome),
        Err(error) => Report::Failed(error),
    };
    report(&control, &last);
    calls::exit(0)
}

/// Sends a report; that nobody listens any more is no error here.
pub fn report(control: &OwnedFd, report: &Report) {
    let _ = send(control, &report.encode(), SendFlags::NOSIGNAL);
}

fn watch_over(prepared: &Prepared<'_>, handed: Handed) -> Result<Outcome, StepError> {
    let _ = set_name(c"watcher");
    calls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    let job = read_job(handed.request)?;
    let before = search(prepared.settings);
    let home = match prepared.tier {
        Tier::A => None,
        Tier::B => Some(PrivateHome::make(&prepared.settings.scratch).during(Step::PrivateDirectories)?),
    };
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .during(Step::Socket)?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let side = match prepared.tier {
        Tier::A => calls::fork_into(identity::namespaces(prepared.settings.network)),
        Tier::B => calls::fork(),
    };
    let keeper = match side.during(Step::Namespaces)? {
        Side::Parent(keeper) => keeper,
        Side::Child => {
            drop((ours, handed.control));
            let inside = keeper::Inside {
                prepared,
                found: &before.found,
                user,
                group,
                home: home.as_ref(),
                stdout: handed.stdout,
                stderr: handed.stderr,
                report: theirs,
            };
            keeper::keep(inside, &job)
        }
    };
    drop((theirs, handed.stdout, handed.stderr));
    let outcome = follow(&handed.control, ours, keeper, prepared.tier);
    drop(home);
    outcome.map(|outcome| with_created_files(outcome, prepared, &before))
}

fn with_created_files(outcome: Outcome, prepared: &Prepared<'_>, before: &Search) -> Outcome {
    let after = search(prepared.settings);
    Outcome {
        created_control_files: after.created_since(before, prepared.settings),
        search_complete: before.complete && after.complete,
        ..outcome
    }
}

fn read_job(request: OwnedFd) -> Result<Job, StepError> {
    let mut bytes = Vec::new();
    let mut file = File::from(request);
    std::io::Seek::rewind(&mut file).during(Step::Request)?;
    file.take(MAX_REQUEST_BYTES).read_to_end(&mut bytes).during(Step::Request)?;
    Job::decode(&bytes).ok_or_else(|| StepError::from_errno(Step::Request, libc::EBADMSG))
}

/// Waits for the command's end or for the end of its lifeline, whichever comes first.
fn follow(control: &OwnedFd, keeper_line: OwnedFd, keeper: i32, tier: Tier) -> Result<Outcome, StepError> {
    let (mut started, mut status, mut killed) = (false, None, false);
    let mut failed = None;
    loop {
        let mut watched = [PollFd::new(control, PollFlags::IN), PollFd::new(&keeper_line, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno).during(Step::Reaper),
            Ok(_) => {}
        }
        let let_go = !watched[0].revents().is_empty();
        if let_go {
            killed = status.is_none();
            break;
        }
        match next(&keeper_line) {
            Some(Report::Started) => {
                started = true;
                report(control, &Report::Started);
            }
            Some(Report::Ended(ended)) => status = Some(ended),
            Some(Report::Failed(error)) => failed = Some(error),
            Some(Report::Done(_)) | None => break,
        }
    }
    let ended = end(keeper_line, keeper, tier)?;
    match failed {
        Some(error) => Err(error),
        None if !started && !killed => Err(StepError::from_errno(Step::Reaper, libc::ECHILD)),
        None => Ok(Outcome {
            status: status.unwrap_or(libc::SIGKILL),
            killed,
            cpu_micros: ended.cpu_micros,
            peak_kib: ended.peak_kib,
            ..Outcome::default()
        }),
    }
}

fn next(line: &OwnedFd) -> Option<Report> {
    let mut buffer = [0; 512];
    match recv(line, &mut buffer, RecvFlags::empty()) {
        Ok((_, length)) if length > 0 => Report::decode(&buffer[..length]),
        _ => None,
    }
}

/// Ends the keeper: in tier A its end is the end of all processes of its namespace; in tier B it first
/// ends them itself, once its line is closed.
fn end(keeper_line: OwnedFd, keeper: i32, tier: Tier) -> Result<calls::Ended, StepError> {
    drop(keeper_line);
    if tier == Tier::B {
        wait_until_ended(keeper);
    }
    let _ = calls::kill(keeper, libc::SIGKILL);
    calls::wait_for(keeper).during(Step::Reaper)
}

fn wait_until_ended(process: i32) {
    let handle = Pid::from_raw(process).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    if let Some(Ok(handle)) = handle {
        let patience = Timespec::try_from(KEEPER_GRACE).ok();
        let _ = poll(&mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)], patience.as_ref());
    }
}
