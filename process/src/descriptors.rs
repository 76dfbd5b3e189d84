//! Closes inherited file descriptors.

use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::forked::close_range;

/// Points stdin, stdout and stderr at `/dev/null`.
pub fn silence() -> std::io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}

/// Closes everything above stderr except these.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut kept: Vec<u32> =
        kept.iter().filter_map(|descriptor| u32::try_from(descriptor.as_raw_fd()).ok()).collect();
    kept.sort_unstable();
    let mut next = 3;
    for descriptor in kept {
        if descriptor > next {
            close_range(next, descriptor - 1, false)?;
        }
        next = next.max(descriptor + 1);
    }
    close_range(next, u32::MAX, false)
}
