//! Makes the connections of a command that may reach public addresses alone.
//!
//! The command's filter stops `bind`, `connect` and `listen` and asks this process, which is inside the
//! command's namespaces but neither in its filter nor in its Landlock domain. It copies the address once,
//! judges its copy, and connects a duplicate of the socket itself: nothing that the command changes after the
//! check matters. Each request is answered by a process of its own, so that a slow connection holds up no
//! other.
//!
//! The command can neither signal this process nor look into it, and if it ends, no call that it was to
//! answer succeeds.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use libc::{seccomp_notif, sock_filter};
use process::descriptors;
use process::public_address::is_public;
use process::seccomp;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::sockopt::socket_domain;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getsockname, socket_with,
};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, fchdir, pidfd_getfd, pidfd_open, setsid, umask};
use rustix::thread::set_name;

use super::fd_passing;
use crate::messages::socket_pair;
use crate::step::{During as _, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// The port of name servers.
const DNS_PORT: u16 = 53;

/// The longest address of a socket that the kernel takes.
const MAX_ADDRESS_BYTES: usize = 128;

/// The connector of one command, before the command's filter is installed.
pub(super) struct Connector(OwnedFd);

impl Connector {
    /// Starts the process, before the command drops its rights. Init adopts and reaps it.
    pub(super) fn start() -> Result<Self, StepError> {
        let (ours, theirs) = socket_pair().during(Step::Connector)?;
        match syscalls::fork().during(Step::Connector)? {
            ForkResult::Child => {
                drop(ours);
                if matches!(syscalls::fork(), Ok(ForkResult::Child)) {
                    let _ = run(theirs);
                }
                syscalls::exit(0)
            }
            ForkResult::Parent(child) => {
                syscalls::wait_for(child).during(Step::Connector)?;
                Ok(Self(ours))
            }
        }
    }

    /// Installs the command's filter, and hands over its end that takes the questions.
    pub(super) fn install(self, filter: &[sock_filter]) -> Result<(), StepError> {
        let listener = seccomp::install_asking(filter).during(Step::Filter)?;
        fd_passing::send(&self.0, [listener.as_fd()]).during(Step::Connector)
    }
}

/// Answers until no process has the filter any more.
fn run(socket: OwnedFd) -> io::Result<()> {
    let _ = set_name(c"connector");
    setsid()?;
    descriptors::silence()?;
    descriptors::close_all_but(&[socket.as_fd()])?;
    syscalls::ignore_children()?;
    let Some([listener]) = fd_passing::receive::<1>(&socket)? else { return Ok(()) };
    drop(socket);
    let resolvers = resolvers();
    loop {
        let mut watched = [PollFd::new(&listener, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
            Ok(_) if watched[0].revents().contains(PollFlags::HUP) => return Ok(()),
            Ok(_) => {}
        }
        // Who asked may be gone by now.
        let Ok(question) = syscalls::receive_question(listener.as_fd()) else { continue };
        match syscalls::fork() {
            Ok(ForkResult::Parent(_)) => {}
            Ok(ForkResult::Child) => {
                let answer = answer(listener.as_fd(), &question, &resolvers);
                let errno = answer.err().map_or(0, |errno| errno.raw_os_error());
                let _ = syscalls::send_answer(listener.as_fd(), question.id, errno);
                syscalls::exit(0)
            }
            Err(_) => {
                let _ = syscalls::send_answer(listener.as_fd(), question.id, libc::EAGAIN);
            }
        }
    }
}

/// The name servers of the command's own `/etc/resolv.conf`. They may be asked wherever they are.
fn resolvers() -> Vec<IpAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let server = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse().ok();
    let servers: Vec<IpAddr> = text.lines().filter_map(server).collect();
    if servers.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { servers }
}

/// Does what the command asked for, if it may.
fn answer(
    listener: BorrowedFd<'_>,
    question: &seccomp_notif,
    resolvers: &[IpAddr],
) -> rustix::io::Result<()> {
    let [descriptor, address, length, ..] = question.data.args;
    let socket = their_descriptor(question.pid, descriptor)?;
    let domain = socket_domain(&socket)?;
    let call = i64::from(question.data.nr);
    if call == libc::SYS_listen {
        still_asking(listener, question)?;
        let backlog = i32::try_from(address).unwrap_or(i32::MAX);
        return if has_path(&socket) { rustix::net::listen(&socket, backlog) } else { Err(Errno::ACCESS) };
    }
    let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
    if length > MAX_ADDRESS_BYTES {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; length];
    syscalls::read_memory(question.pid, address, &mut bytes).map_err(errno_of)?;
    // Until here another process could have taken the number of the one that asked.
    still_asking(listener, question)?;
    if call == libc::SYS_bind {
        return bind_to(question.pid, domain, &socket, &bytes);
    }
    match domain {
        AddressFamily::UNIX => connect_to_path(question.pid, &socket, &bytes),
        AddressFamily::INET | AddressFamily::INET6 => {
            let address = internet_address(domain, &bytes)?;
            if is_allowed(address, resolvers) { connect(&socket, &address) } else { Err(Errno::ACCESS) }
        }
        _ => Err(Errno::ACCESS),
    }
}

/// A duplicate of a descriptor of the thread that asked.
fn their_descriptor(thread: u32, descriptor: u64) -> rustix::io::Result<OwnedFd> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).map_err(errno_of)?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    let process = process.and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    let descriptor = i32::try_from(descriptor & 0xFFFF_FFFF).map_err(|_| Errno::BADF)?;
    pidfd_getfd(handle, descriptor, PidfdGetfdFlags::empty())
}

fn still_asking(listener: BorrowedFd<'_>, question: &seccomp_notif) -> rustix::io::Result<()> {
    syscalls::is_asked(listener, question.id).map_err(errno_of)
}

/// The mounts here are the command's own, so a path leads only to what the command may reach. Abstract names
/// are the machine's.
fn connect_to_path(thread: u32, socket: &OwnedFd, address: &[u8]) -> rustix::io::Result<()> {
    go_where_it_leads(thread, address)?;
    syscalls::connect(socket.as_fd(), address).map_err(errno_of)
}

/// Names a unix socket by a path, or takes part in netlink, which lists interfaces. Other programs of the
/// machine would find an abstract name, so none is given, nor one that the kernel makes up.
fn bind_to(thread: u32, domain: AddressFamily, socket: &OwnedFd, address: &[u8]) -> rustix::io::Result<()> {
    match domain {
        AddressFamily::UNIX => {
            go_where_it_leads(thread, address)?;
            umask(their_umask(thread)?);
        }
        AddressFamily::NETLINK => {}
        _ => return Err(Errno::ACCESS),
    }
    syscalls::bind(socket.as_fd(), address).map_err(errno_of)
}

/// Enters the directory in which a path begins; refuses other text.
fn go_where_it_leads(thread: u32, address: &[u8]) -> rustix::io::Result<()> {
    match address {
        [_, _] | [_, _, 0, ..] => Err(Errno::ACCESS),
        [_, _, b'/', ..] => Ok(()),
        _ => {
            let theirs = File::open(format!("/proc/{thread}/cwd")).map_err(errno_of)?;
            fchdir(&theirs)
        }
    }
}

fn their_umask(thread: u32) -> rustix::io::Result<Mode> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).map_err(errno_of)?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    mask.map(Mode::from_raw_mode).ok_or(Errno::SRCH)
}

/// Whether a unix socket has a path for its name. A name stays for ever.
fn has_path(socket: &OwnedFd) -> bool {
    getsockname(socket)
        .and_then(SocketAddrUnix::try_from)
        .is_ok_and(|name| name.path().is_some_and(|path| !path.is_empty()))
}

/// The address that the kernel would read from these bytes, for a socket of this family.
fn internet_address(domain: AddressFamily, bytes: &[u8]) -> rustix::io::Result<SocketAddr> {
    let part = |at: usize, length: usize| bytes.get(at..at + length).ok_or(Errno::INVAL);
    let family = u16::from_ne_bytes(part(0, 2)?.try_into().map_err(|_| Errno::INVAL)?);
    if family != domain.as_raw() {
        return Err(Errno::AFNOSUPPORT);
    }
    let port = u16::from_be_bytes(part(2, 2)?.try_into().map_err(|_| Errno::INVAL)?);
    if domain == AddressFamily::INET {
        part(0, 16)?;
        let address: [u8; 4] = part(4, 4)?.try_into().map_err(|_| Errno::INVAL)?;
        return Ok((Ipv4Addr::from(address), port).into());
    }
    let address: [u8; 16] = part(8, 16)?.try_into().map_err(|_| Errno::INVAL)?;
    let scope = bytes.get(24..28).and_then(|scope| scope.try_into().ok()).map_or(0, u32::from_ne_bytes);
    Ok(SocketAddrV6::new(Ipv6Addr::from(address), port, 0, scope).into())
}

fn is_allowed(address: SocketAddr, resolvers: &[IpAddr]) -> bool {
    let is_resolver = address.port() == DNS_PORT && resolvers.contains(&address.ip());
    is_resolver || is_public(address.ip()) && !is_own(address.ip())
}

/// Whether this machine has the address; only then can a socket be bound to it.
fn is_own(address: IpAddr) -> bool {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .and_then(|socket| bind(&socket, &SocketAddr::new(address, 0)));
    bound != Err(Errno::ADDRNOTAVAIL)
}

fn errno_of(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_the_kernel_reads_it() {
        let v4 = [&libc::AF_INET.cast_unsigned().to_ne_bytes()[..2], &[0, 80, 1, 2, 3, 4], &[0; 8]].concat();
        assert_eq!(internet_address(AddressFamily::INET, &v4), Ok("1.2.3.4:80".parse().unwrap()));
        assert_eq!(internet_address(AddressFamily::INET, &v4[..15]), Err(Errno::INVAL));
        assert_eq!(internet_address(AddressFamily::INET6, &v4), Err(Errno::AFNOSUPPORT));
        let mut v6 = vec![0; 28];
        v6[..2].copy_from_slice(&libc::AF_INET6.cast_unsigned().to_ne_bytes()[..2]);
        v6[3] = 80;
        v6[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        assert_eq!(internet_address(AddressFamily::INET6, &v6), Ok("[::1]:80".parse().unwrap()));
        assert_eq!(internet_address(AddressFamily::INET, &[0, 0, 0, 0]), Err(Errno::AFNOSUPPORT));
    }

    #[test]
    fn name_servers_may_be_asked_for_names_and_for_nothing_else() {
        let server: IpAddr = "10.9.9.9".parse().unwrap();
        assert!(is_allowed((server, 53).into(), &[server]));
        assert!(!is_allowed((server, 80).into(), &[server]));
        assert!(!is_allowed((Ipv4Addr::LOCALHOST, 53).into(), &[server]));
    }
}
