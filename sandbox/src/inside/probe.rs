//! The inner half of the self-check: a confined process that tries what must fail, and what must work.
//!
//! It runs in place of a program, behind the same layers, and writes one line per attempt. The server
//! decides what the answers mean.

use std::convert::Infallible;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::time::Duration;

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
use rustix::net::{AddressFamily, SendFlags, SocketType, sendto, socket};

use crate::messages::ProbePlan;
use crate::step::StepError;
use crate::syscalls::{self, ForkResult, probe_calls};

/// The answer of an attempt that succeeded; otherwise the answer is its error.
pub(crate) const SUCCESS: &str = "done";

/// The name of the server's socket in its directory.
pub(crate) const SOCKET: &str = "socket";

/// More processes than any limit allows.
const TOO_MANY_PROCESSES: u32 = 4096;

/// More memory than any limit allows.
const TOO_MUCH_MEMORY: usize = 1 << 40;

pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// Whether it must fail; otherwise it is ordinary work and must succeed.
    pub(crate) is_attack: bool,
    run: fn(&ProbePlan) -> io::Result<()>,
}

const fn attack(name: &'static str, text: &'static str, run: fn(&ProbePlan) -> io::Result<()>) -> Attempt {
    Attempt { name, text, is_attack: true, run }
}

const fn work(name: &'static str, text: &'static str, run: fn(&ProbePlan) -> io::Result<()>) -> Attempt {
    Attempt { name, text, is_attack: false, run }
}

const ATTEMPTS: &[Attempt] = &[
    attack("read", "read a file outside the roots", |plan| fs::read(&plan.outside).map(drop)),
    attack("write", "write a file outside the roots", |plan| {
        File::options().append(true).open(&plan.outside).map(drop)
    }),
    attack("link", "link a file outside into a root", link),
    attack("stat", "see a file outside the roots", |plan| fs::metadata(&plan.outside).map(drop)),
    attack("chmod", "change the mode of a file outside the roots", |plan| {
        fs::set_permissions(&plan.outside, Permissions::from_mode(0o600))
    }),
    attack("signal", "signal the server", |plan| syscalls::kill(plan.server_pid, 0)),
    attack("environ", "read another process's environment", |_| read_other_environment()),
    attack("unix", "connect to a socket of the server", |plan| {
        // Its whole path may be longer than an address can be.
        env::set_current_dir(&plan.socket_directory)?;
        UnixStream::connect(SOCKET).map(drop)
    }),
    attack("abstract", "connect to an abstract socket of the server", |plan| {
        let address = UnixAddress::from_abstract_name(&plan.abstract_name)?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    attack("io_uring", "set up io_uring", |_| probe_calls::io_uring()),
    attack("bpf", "load a program into the kernel", |_| unless_denied(probe_calls::bpf())),
    attack("unshare", "create a namespace", |_| syscalls::unshare(libc::CLONE_NEWUSER)),
    attack("foreign", "make a system call of another architecture", |_| survives(probe_calls::foreign_call)),
    attack("terminal", "type into a terminal", |_| {
        let null = File::open("/dev/null")?;
        unless_denied(probe_calls::push_into_terminal(null.as_fd()))
    }),
    attack("vmsplice", "keep memory in a pipe that no process maps", |_| probe_calls::vmsplice()),
    attack("core_pattern", "change where the kernel sends core dumps", |_| {
        File::options().write(true).open("/proc/sys/kernel/core_pattern").map(drop)
    }),
    work("root", "write in a root", |plan| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(CWD, &plan.root, flags, Mode::from_raw_mode(0o600)).map(drop).map_err(io::Error::from)
    }),
    work("null", "write to /dev/null", |_| fs::write("/dev/null", "x")),
];

/// Attempts that take longer.
const LIMIT_ATTEMPTS: &[Attempt] = &[
    attack("memory", "allocate unlimited memory", |_| {
        Vec::<u8>::new().try_reserve_exact(TOO_MUCH_MEMORY).map_err(io::Error::other)
    }),
    attack("fallocate", "take disk space in a single call", |plan| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(CWD, &plan.root, flags, Mode::from_raw_mode(0o600))?;
        Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, 4096)?)
    }),
    attack("processes", "start unlimited processes", |_| fork_too_many()),
];

pub(crate) fn attempts(test_limits: bool) -> impl Iterator<Item = &'static Attempt> {
    ATTEMPTS.iter().chain(if test_limits { LIMIT_ATTEMPTS } else { &[] })
}

/// Tries everything and exits. First it closes the descriptors that an exec would have closed, which also
/// tells init that the command has started.
pub(super) fn run(plan: &ProbePlan) -> Result<Infallible, StepError> {
    let _ = syscalls::close_range(3, u32::MAX, false);
    for attempt in attempts(plan.test_limits) {
        let line = match (attempt.run)(plan) {
            Ok(()) => format!("{}\t{SUCCESS}\n", attempt.name),
            Err(error) => format!("{}\t{error}\n", attempt.name),
        };
        let _ = rustix::io::write(rustix::stdio::stdout(), line.as_bytes());
    }
    send_packets(plan);
    syscalls::exit(0)
}

/// Sends packets to the server, which sees whether they arrive.
fn send_packets(plan: &ProbePlan) {
    let [tcp, udp] = [plan.tcp_port, plan.udp_port].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let _ = TcpStream::connect_timeout(&tcp, Duration::from_millis(100));
    if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
        let _ = socket.send_to(b"probe", udp);
    }
    if let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, None) {
        // Fast open sends data with the first packet, which evades filters of `connect`.
        let fast_open = SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
        let _ = sendto(&socket, b"probe", fast_open, &tcp);
    }
}

fn link(plan: &ProbePlan) -> io::Result<()> {
    let new_name = plan.root.join(format!(".sandbox-probe-{}", plan.server_pid));
    fs::hard_link(&plan.outside, &new_name)?;
    fs::remove_file(&new_name)
}

fn read_other_environment() -> io::Result<()> {
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let is_process = name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        let environment = || fs::read(process.path().join("environ"));
        if is_process && name != OsStr::new(&own) && environment().is_ok_and(|text| !text.is_empty()) {
            return Ok(());
        }
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// A call that the filter allows may still fail because of its arguments; only EPERM comes from the filter.
fn unless_denied(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}

/// Runs an attempt that may kill the process in a process of its own.
fn survives(attempt: fn()) -> io::Result<()> {
    match syscalls::fork()? {
        ForkResult::Child => {
            attempt();
            syscalls::exit(0)
        }
        ForkResult::Parent(child) => match syscalls::wait_for(child)?.0 {
            0 => Ok(()),
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        },
    }
}

/// The processes wait until init ends them with the probe.
fn fork_too_many() -> io::Result<()> {
    for _ in 0..TOO_MANY_PROCESSES {
        if matches!(syscalls::fork()?, ForkResult::Child) {
            rustix::event::pause();
            syscalls::exit(0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_attempts_are_unique() {
        let names: Vec<_> = attempts(true).map(|attempt| attempt.name).collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len());
    }
}
