//! Hands a filter to the kernel.
#![expect(unsafe_code, reason = "no crate has a safe form of these calls; each block says why it is sound")]

use std::ffi::{c_long, c_ulong};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use libc::{sock_filter, sock_fprog};

/// Puts a filter on every thread of this process. It cannot be removed, and whatever the process starts
/// inherits it. The process must have `no_new_privs`.
pub fn install(filter: &[sock_filter]) -> io::Result<()> {
    match set_filter(filter, libc::SECCOMP_FILTER_FLAG_TSYNC)? {
        0 => Ok(()),
        // With this flag the kernel answers with the thread that could not take the filter.
        thread => Err(io::Error::other(format!("thread {thread} has another filter"))),
    }
}

/// Puts a filter on this process, which has one thread, and returns where its questions can be received.
pub fn install_asking(filter: &[sock_filter]) -> io::Result<OwnedFd> {
    let listener = set_filter(filter, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    let listener = i32::try_from(listener).map_err(io::Error::other)?;
    // SAFETY: with this flag the kernel answers with a descriptor that is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

fn set_filter(filter: &[sock_filter], flags: c_ulong) -> io::Result<c_long> {
    let program = sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut(),
    };
    let operation = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: `program` describes `filter`, which the kernel copies and does not change.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
