//! Descriptors: what came from another process and is not meant for this one is closed.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use crate::calls;

/// Points stdin, stdout and stderr at nothing.
pub fn silence() -> std::io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    (0..=2).try_for_each(|number| calls::put_at(null.as_fd(), number))
}

/// Closes everything above stderr but these.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut kept: Vec<u32> =
        kept.iter().filter_map(|descriptor| u32::try_from(descriptor.as_raw_fd()).ok()).collect();
    kept.sort_unstable();
    let mut next = 3;
    for descriptor in kept {
        if descriptor > next {
            calls::close_range(next, descriptor - 1, false)?;
        }
        next = next.max(descriptor + 1);
    }
    calls::close_range(next, u32::MAX, false)
}
