//! The system calls that need `unsafe`. Nothing else in this crate is unsafe.
//!
//! Each function makes one call with safe arguments. The callers decide what to do with it.
#![expect(unsafe_code, reason = "no crate has a safe form of these calls; each block says why it is sound")]

use std::ffi::{CStr, CString, c_int, c_long, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{seccomp_notif, seccomp_notif_resp};

pub(crate) use process::forked::{
    ForkResult, close_range, default_signals, erase_environment, exit, fork, ignore_children, tidy_heap,
    unblock_signals,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time, including its reaped descendants, in microseconds.
    pub(crate) cpu_micros: u64,
    /// The largest resident memory of any of them, in KiB.
    pub(crate) peak_kib: u64,
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn fork_result(result: c_long) -> io::Result<ForkResult> {
    match checked(result)? {
        0 => Ok(ForkResult::Child),
        child => Ok(ForkResult::Parent(i32::try_from(child).map_err(io::Error::other)?)),
    }
}

/// Forks this process into new namespaces.
pub(crate) fn fork_into(namespaces: c_int) -> io::Result<ForkResult> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a fork; the process has one thread, see
    // `fork`. All other arguments are unused by these flags.
    fork_result(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })
}

pub(crate) fn unshare(namespaces: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved; CLONE_FILES and CLONE_VM are never passed.
    checked(unsafe { libc::unshare(namespaces) }.into()).map(drop)
}

/// Waits for a child; its raw wait status, and what it and its reaped descendants used.
pub(crate) fn wait_for(child: i32) -> io::Result<(c_int, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are valid for the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: as above.
        match checked(unsafe { libc::wait4(child, &raw mut status, 0, &raw mut usage) }.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    Ok((status, Usage::of(&usage)))
}

/// The usage of all children that were waited for.
pub(crate) fn usage_of_children() -> Usage {
    // SAFETY: an all-zero rusage is valid, and the pointer is valid for the call.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        Usage::of(&usage)
    }
}

impl Usage {
    fn of(usage: &libc::rusage) -> Self {
        let micros = |time: libc::timeval| {
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
        };
        Self {
            cpu_micros: micros(usage.ru_utime) + micros(usage.ru_stime),
            peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        }
    }
}

/// Executes a program; returns only if that failed.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and all texts live until the call returns.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Gives a descriptor another number, too, under which the program that is executed has it.
pub(crate) fn duplicate_to(descriptor: BorrowedFd<'_>, number: i32) -> io::Result<()> {
    // SAFETY: the number is one that nothing in this process owns, because all but a few low ones are closed.
    checked(unsafe { libc::dup2(descriptor.as_raw_fd(), number) }.into()).map(drop)
}

/// Sends a signal; 0 only checks whether one could be sent.
pub(crate) fn kill(process: i32, signal: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::kill(process, signal) }.into()).map(drop)
}

/// A descriptor that becomes readable when a child ends.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero set is a valid set, the pointers are valid for the calls, and the descriptor is
    // new and has no other owner.
    unsafe {
        let mut children: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut children);
        libc::sigaddset(&raw mut children, libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const children, ptr::null_mut()).into())?;
        let signals = libc::signalfd(-1, &raw const children, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        checked(signals.into())?;
        Ok(OwnedFd::from_raw_fd(signals))
    }
}

/// Sets attributes of a mount, and of the mounts below it if `recursive`.
pub(crate) fn set_mount_attributes(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, and size and pointer describe `attributes`.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    })
    .map(drop)
}

pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an all-zero request is valid; the name fits; the pointer is valid for the call.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = libc::c_char::from_ne_bytes([*byte]);
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).unwrap_or(1);
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request).into()).map(drop)
    }
}

/// Drops a capability from the bounding set; false if the kernel has no capability with this number.
pub(crate) fn drop_from_bounding_set(capability: c_ulong) -> io::Result<bool> {
    // SAFETY: no memory is involved.
    match checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }.into()) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The next question of a filter. Fails if who asked is gone.
pub(crate) fn receive_question(listener: BorrowedFd<'_>) -> io::Result<seccomp_notif> {
    // SAFETY: the kernel demands an all-zero question, which is valid, and fills it.
    unsafe {
        let mut question: seccomp_notif = std::mem::zeroed();
        let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
        checked(libc::ioctl(listener.as_raw_fd(), request, &raw mut question).into())?;
        Ok(question)
    }
}

/// Answers a question: the call failed with this error number, or succeeded if it is 0.
pub(crate) fn send_answer(listener: BorrowedFd<'_>, question: u64, errno: c_int) -> io::Result<()> {
    answer(listener, seccomp_notif_resp { id: question, val: 0, error: -errno, flags: 0 })
}

/// Answers a question: the kernel makes the call, with the arguments as they are by then.
pub(crate) fn let_pass(listener: BorrowedFd<'_>, question: u64) -> io::Result<()> {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    let flags = u32::try_from(flags).map_err(io::Error::other)?;
    answer(listener, seccomp_notif_resp { id: question, val: 0, error: 0, flags })
}

fn answer(listener: BorrowedFd<'_>, mut answer: seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the pointer is valid for the call.
    checked(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer).into()
    })
    .map(drop)
}

/// Fails if who asked this no longer waits for the answer.
pub(crate) fn is_asked(listener: BorrowedFd<'_>, question: u64) -> io::Result<()> {
    // SAFETY: the pointer is valid for the call.
    checked(unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const question).into()
    })
    .map(drop)
}

/// Copies memory of another thread; fails if it is not all there.
pub(crate) fn read_memory(thread: u32, address: u64, bytes: &mut [u8]) -> io::Result<()> {
    let thread = i32::try_from(thread).map_err(io::Error::other)?;
    let remote = usize::try_from(address).map_err(io::Error::other)?;
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(remote), iov_len: bytes.len() };
    // SAFETY: `local` describes `bytes`; the kernel checks the address in the other process.
    let read = unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Ok(length) if length == bytes.len() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Connects a socket to an address of any family.
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).map_err(io::Error::other)?;
    // SAFETY: pointer and length describe `address`, which the kernel only copies.
    checked(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) }.into()).map(drop)
}

/// Names a socket by an address of any family.
pub(crate) fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).map_err(io::Error::other)?;
    // SAFETY: pointer and length describe `address`, which the kernel only copies.
    checked(unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) }.into()).map(drop)
}

/// The Landlock version, or the error if there is none.
pub(crate) fn landlock_version() -> io::Result<i64> {
    const ASK_VERSION: c_int = 1;
    // SAFETY: with this flag the kernel reads no memory.
    checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0, ASK_VERSION) })
}

/// The calls of the self-check's probe, which a confined process must not get through.
pub(crate) mod probe_calls {
    use super::{AsRawFd as _, BorrowedFd, checked, io, ptr};

    /// Sets up io_uring, which could open sockets past a filter.
    pub(crate) fn io_uring() -> io::Result<()> {
        let mut parameters = [0_u8; 256];
        // SAFETY: the kernel writes at most 120 bytes of parameters; the ring is closed with the process.
        checked(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) }).map(drop)
    }

    /// Puts a page of this process into a pipe.
    pub(crate) fn vmsplice() -> io::Result<()> {
        let (_read, write) = rustix::pipe::pipe()?;
        let page = [0_u8; 64];
        let part = libc::iovec { iov_base: page.as_ptr().cast_mut().cast(), iov_len: page.len() };
        // SAFETY: `part` describes `page`, which lives longer than the pipe; the kernel only reads it.
        checked(unsafe { libc::syscall(libc::SYS_vmsplice, write.as_raw_fd(), &raw const part, 1, 0) })
            .map(drop)
    }

    /// Makes a system call of a 32-bit program, on machines that have those.
    pub(crate) fn foreign_call() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: number 20 is getpid of the 32-bit table and touches no memory. r8 to r11 are clobbered.
        unsafe {
            std::arch::asm!("int 0x80", inout("eax") 20 => _, out("r8") _, out("r9") _, out("r10") _,
                out("r11") _);
        }
        #[cfg(not(target_arch = "x86_64"))]
        super::exit(0);
    }

    pub(crate) fn bpf() -> io::Result<()> {
        // SAFETY: size 0 with a null pointer is refused before memory is read.
        checked(unsafe { libc::syscall(libc::SYS_bpf, 0, ptr::null::<u8>(), 0) }).map(drop)
    }

    pub(crate) fn push_into_terminal(terminal: BorrowedFd<'_>) -> io::Result<()> {
        // SAFETY: the pointer is to one byte, valid for the call.
        checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, c"x".as_ptr()) }.into()).map(drop)
    }
}
