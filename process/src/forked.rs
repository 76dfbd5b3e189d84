//! What a process does that was forked to become something else: the spawner of commands and the fetcher.
//!
//! Each function makes one call with safe arguments. The callers decide what to do with it.
#![expect(unsafe_code, reason = "no crate has a safe form of these calls; each block says why it is sound")]

use std::ffi::{c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr;

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkResult {
    /// The process that forked, with the child's process ID.
    Parent(i32),
    /// The new process.
    Child,
}

/// Forks this process, which must have one thread.
pub fn fork() -> io::Result<ForkResult> {
    // SAFETY: every caller forks while it has one thread, so no lock is held by a thread that does not exist
    // in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkResult::Child),
        child => Ok(ForkResult::Parent(child)),
    }
}

/// Exits at once, without running the exit handlers that the parent registered.
pub fn exit(code: c_int) -> ! {
    // SAFETY: ends the process; no memory is involved.
    unsafe { libc::_exit(code) }
}

/// Resets every signal to its default action and unblocks all.
pub fn default_signals() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no handler is installed. EINVAL for the signals that cannot be set is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    unblock_signals()
}

/// Blocks no signal any more.
pub fn unblock_signals() -> io::Result<()> {
    // SAFETY: an all-zero set is a valid set, and the pointers are valid for the calls.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        done(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()).into())
    }
}

/// Lets the kernel reap children by itself.
pub fn ignore_children() -> io::Result<()> {
    // SAFETY: no handler is installed.
    let previous = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    if previous == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Closes the descriptors `first..=last`, or only marks them to close on exec.
pub fn close_range(first: u32, last: u32, only_on_exec: bool) -> io::Result<()> {
    let flags = if only_on_exec { libc::CLOSE_RANGE_CLOEXEC } else { 0 };
    // SAFETY: called where every descriptor in the range belongs to code that never runs in this process.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) })
}

/// Joins the free parts of the heap and returns unused memory. Otherwise each fork does the first by
/// itself, in a copy of every page that it touches.
pub fn tidy_heap() {
    // SAFETY: the allocator's own function, and this process has one thread.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Overwrites this process's environment with zeros, so that `/proc/<pid>/environ` no longer shows it.
pub fn erase_environment() {
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: one thread, and nothing in this process reads its environment any more; each entry is a
    // writable, zero-terminated string, and the list ends with a null pointer.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            ptr::write_bytes(*entry, 0, libc::strlen(*entry));
            entry = entry.add(1);
        }
    }
}

/// Makes the descriptor with this number stand for what `replacement` stands for.
pub fn replace_descriptor(number: c_int, replacement: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is involved; the caller owns what the number stood for.
    done(unsafe { libc::dup2(replacement.as_raw_fd(), number) }.into())
}

/// Waits for a child to end.
pub fn wait_for(child: i32) -> io::Result<()> {
    loop {
        // SAFETY: a null pointer says that the status is of no interest.
        match done(unsafe { libc::waitpid(child, ptr::null_mut(), 0) }.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            waited => return waited,
        }
    }
}

fn done(result: c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
