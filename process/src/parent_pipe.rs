//! A forked process ends with its parent, even while it is stopped.
//!
//! The kernel sends a death signal (`PR_SET_PDEATHSIG`) in the name of the parent's thread, and one that is
//! confined by Landlock may signal no process: a child that stood still stayed for ever. The end of a pipe is
//! reported in the name of the process that asked for it, which is the child itself.
#![expect(unsafe_code, reason = "no crate has a safe form of these calls; each block says why it is sound")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::forked;

/// The parent's end. The child ends when it is closed.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "it is only held")] OwnedFd);

/// The child's end.
#[derive(Debug)]
pub struct Watched(OwnedFd);

/// Both ends, made before the fork; each process drops that of the other.
pub fn pair() -> io::Result<(Held, Watched)> {
    let (watched, held) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Held(held), Watched(watched)))
}

impl Watched {
    /// Has the kernel kill this process when the parent's end is closed. Holds as long as this is open.
    pub fn end_with_parent(&self) -> io::Result<()> {
        let own = c_int::try_from(std::process::id()).map_err(io::Error::other)?;
        for (command, value) in
            [(libc::F_SETOWN, own), (F_SETSIG, libc::SIGKILL), (libc::F_SETFL, libc::O_ASYNC)]
        {
            // SAFETY: no memory is involved, and the descriptor is this one's own.
            if unsafe { libc::fcntl(self.0.as_raw_fd(), command, value) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        let mut watched = [PollFd::new(&self.0, PollFlags::empty())];
        if poll(&mut watched, Some(&Timespec::default()))? > 0 {
            // It has ended before.
            forked::exit(0);
        }
        Ok(())
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `F_SETSIG` of `fcntl.h`, which the crate `libc` lacks for most targets.
const F_SETSIG: c_int = 10;
