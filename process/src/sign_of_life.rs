//! Asks a forked process again and again whether it still works, over the socket on which it takes its work.
//!
//! A process can live and stand still: stopped by a signal, or caught in a call that does not return. Its
//! callers would wait for ever.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::fd_passing;

/// The byte of a message that asks for a sign of life; the descriptor with it is where the answer goes.
pub const ASKED: u8 = b'?';

/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// A process that takes longer than this for an answer is not well.
const QUIET: Duration = Duration::from_secs(4);
/// Without an answer for this long, it is lost.
const SILENCE: Duration = Duration::from_secs(12);
/// The least time for an answer, however long the asking process itself was suspended.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

/// How a process was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It closed its end of the socket.
    #[error("has ended")]
    Ended,
    /// It lives, but does not answer.
    #[error("has given no answer for {} s", SILENCE.as_secs())]
    Silent,
}

/// Answers a question that came with this descriptor.
pub fn answer(asking: &OwnedFd) {
    // It is no error if the question is no longer open.
    let _ = send(asking, &[ASKED], SendFlags::NOSIGNAL);
}

/// Asks the process behind `socket` until it is lost. `tell` hears when it is quiet, and when not any more.
pub fn watch(socket: impl AsFd, mut tell: impl FnMut(bool)) -> Loss {
    let mut was_quiet = false;
    let mut note = |is_quiet| {
        if was_quiet != is_quiet {
            tell(is_quiet);
            was_quiet = is_quiet;
        }
    };
    loop {
        let asked = Instant::now();
        if let Some(loss) = ask(socket.as_fd(), &mut note) {
            return loss;
        }
        let pause = ASK_EVERY.saturating_sub(asked.elapsed());
        if wait(socket.as_fd(), PollFlags::empty(), pause) {
            return Loss::Ended;
        }
    }
}

/// Asks once.
fn ask(socket: BorrowedFd<'_>, mut tell: impl FnMut(bool)) -> Option<Loss> {
    let pair = UnixStream::pair();
    // Without a descriptor left, nothing can be asked; the next time may be better.
    let Ok((mut ours, theirs)) = pair else { return None };
    if fd_passing::send(socket, ASKED, &[theirs.as_fd()]).is_err() {
        return Some(Loss::Ended);
    }
    drop(theirs);
    for patience in [QUIET, SILENCE - QUIET, LEAST_PATIENCE] {
        if wait(ours.as_fd(), PollFlags::IN, patience) {
            let is_answer = ours.read_exact(&mut [0]).is_ok();
            tell(false);
            return (!is_answer).then_some(Loss::Ended);
        }
        tell(true);
    }
    Some(Loss::Silent)
}

/// Whether something happens to the socket within this time.
fn wait(socket: BorrowedFd<'_>, what: PollFlags, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&socket, what)], left.as_ref()) {
            Err(Errno::INTR) => {}
            happened => return happened != Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_process_that_answers_is_asked_until_it_ends() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answering = thread::spawn(move || {
            for _ in 0..2 {
                let (byte, descriptors) = fd_passing::receive(&theirs).unwrap().unwrap();
                assert_eq!((byte, descriptors.len()), (ASKED, 1));
                answer(&descriptors[0]);
            }
        });
        assert_eq!(watch(&ours, |is_quiet| assert!(!is_quiet)), Loss::Ended);
        answering.join().unwrap();
    }
}
