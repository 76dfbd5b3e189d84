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
use super::search::{Index, Search};
use super::spawning::Prepared;
use super::{identity, keeper, private_home::PrivateHome};
use crate::calls::{self, Side};
use crate::messages::{Job, Outcome, Report};
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// The longest request: two argument lists of the kernel's own bound.
const MAX_REQUEST_BYTES: u64 = 8 << 20;

/// How long a keeper of tier A may take to end all processes, so that what they used is counted, before its
/// own end ends them.
const KEEPER_PATIENCE: Duration = Duration::from_millis(50);

/// Lives as the watcher of one command until it ended. `before` is what the roots held when it was asked for.
pub fn hold(prepared: &Prepared<'_>, handed: Handed, index: &mut Index, before: &Search) -> ! {
    let Handed { request, stdout, stderr, control } = handed;
    let outcome = begin(prepared, request, [stdout, stderr], before)
        .and_then(|begun| follow(&control, begun, prepared.tier));
    let last = match outcome {
        Ok(outcome) => {
            let after = index.search(prepared.settings);
            Report::Done(Outcome {
                created_control_files: after.created_since(before, prepared.settings),
                search_complete: before.complete && after.complete,
                ..outcome
            })
        }
        Err(error) => Report::Failed(error),
    };
    report(&control, &last);
    calls::exit(0)
}

/// Sends a report; that nobody listens any more is no error here.
pub fn report(control: &OwnedFd, report: &Report) {
    let _ = send(control, &report.encode(), SendFlags::NOSIGNAL);
}

/// A keeper that was forked, and what has to stay until it ended.
struct Begun {
    keeper: i32,
    line: OwnedFd,
    _home: Option<PrivateHome>,
}

fn begin(
    prepared: &Prepared<'_>,
    request: OwnedFd,
    [stdout, stderr]: [OwnedFd; 2],
    before: &Search,
) -> Result<Begun, StepError> {
    let _ = set_name(c"watcher");
    calls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    let job = read_job(request)?;
    let home = match prepared.tier {
        Tier::A => None,
        Tier::B => Some(PrivateHome::make(&prepared.settings.scratch).during(Step::PrivateDirectories)?),
    };
    let (line, report) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .during(Step::Socket)?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let side = match prepared.tier {
        Tier::A => calls::fork_into(identity::namespaces(prepared.settings.network)),
        Tier::B => calls::fork(),
    };
    match side.during(Step::Namespaces)? {
        Side::Parent(keeper) => Ok(Begun { keeper, line, _home: home }),
        Side::Child => {
            let (found, home) = (&before.found, home.as_ref());
            keeper::keep(&keeper::Inside { prepared, found, user, group, home, stdout, stderr, report }, &job)
        }
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
fn follow(control: &OwnedFd, begun: Begun, tier: Tier) -> Result<Outcome, StepError> {
    let (mut started, mut status, mut killed) = (false, None, false);
    let mut failed = None;
    loop {
        let mut watched = [PollFd::new(control, PollFlags::IN), PollFd::new(&begun.line, PollFlags::IN)];
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
        match next(&begun.line) {
            Some(Report::Started) => {
                started = true;
                report(control, &Report::Started);
            }
            Some(Report::Ended(ended)) => status = Some(ended),
            Some(Report::Failed(error)) => failed = Some(error),
            Some(Report::Done(_)) | None => break,
        }
    }
    let ended = end(begun, tier)?;
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

/// Waits until the keeper has ended all processes and itself, once its line is closed.
///
/// In tier B it is never ended from here: nobody else could end the rest.
fn end(begun: Begun, tier: Tier) -> Result<calls::Ended, StepError> {
    let Begun { keeper, line, _home } = begun;
    drop(line);
    if tier == Tier::A {
        if let Some(Ok(handle)) = Pid::from_raw(keeper).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            let patience = Timespec::try_from(KEEPER_PATIENCE).ok();
            let _ = poll(&mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)], patience.as_ref());
        }
        let _ = calls::kill(keeper, libc::SIGKILL);
    }
    calls::wait_for(keeper).during(Step::Reaper)
}
