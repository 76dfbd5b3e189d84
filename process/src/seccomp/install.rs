//! Hands a filter to the kernel.
#![expect(unsafe_code, reason = "no crate has a safe form of this call; the block says why it is sound")]

use std::io;

use libc::{sock_filter, sock_fprog};

/// Puts a filter on every thread of this process. It cannot be removed, and whatever the process starts
/// inherits it. The process must have `no_new_privs`.
pub fn install(filter: &[sock_filter]) -> io::Result<()> {
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: `program` describes `filter`, which the kernel copies and does not change.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    match result {
        0 => Ok(()),
        // With this flag the kernel answers with the thread that could not take the filter.
        thread if thread > 0 => Err(io::Error::other(format!("thread {thread} has another filter"))),
        _ => Err(io::Error::last_os_error()),
    }
}
