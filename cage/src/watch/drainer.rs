//! A thread that reads the roots for the first time, and then takes reports out of the kernel's queue while
//! commands run, so that a command that changes many files does not overflow it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::index::Index;

/// How long reports gather: short enough for a queue of 16,384, long enough to leave the command its
/// processor.
const PAUSE: Duration = Duration::from_millis(5);

/// Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Drainer {
    _end: OwnedFd,
}

impl Drainer {
    pub(super) fn start(index: &Arc<Mutex<Index>>, queue: Option<Arc<OwnedFd>>) -> io::Result<Self> {
        let (ended, end) = pipe_with(PipeFlags::CLOEXEC)?;
        let index = Arc::downgrade(index);
        thread::Builder::new().name("roots-watch".to_owned()).spawn(move || {
            // A command asks again, and the answer says why it cannot run.
            let _ = with(&index, |index| index.refresh().map(drop));
            if let Some(queue) = queue {
                drain(&index, &queue, &ended);
            }
        })?;
        Ok(Self { _end: end })
    }
}

fn drain(index: &Weak<Mutex<Index>>, queue: &OwnedFd, ended: &OwnedFd) {
    let pause = Timespec::try_from(PAUSE).ok();
    loop {
        let mut waited = [PollFd::new(queue, PollFlags::IN), PollFd::new(ended, PollFlags::empty())];
        match poll(&mut waited, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if !waited[1].revents().is_empty() || with(index, Index::drain).is_none() {
            return;
        }
        let _ = poll(&mut [PollFd::new(ended, PollFlags::empty())], pause.as_ref());
    }
}

fn with<T>(index: &Weak<Mutex<Index>>, act: impl FnOnce(&mut Index) -> T) -> Option<T> {
    Some(act(&mut index.upgrade()?.lock().unwrap_or_else(PoisonError::into_inner)))
}
