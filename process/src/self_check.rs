//! Tries what a confined program must not be able to do, on the program itself.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use rustix::net::{AddressFamily, Protocol, SocketType, socket};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, PidfdGetfdFlags, dumpable_behavior, getppid, pidfd_getfd, pidfd_open,
    test_kill_process,
};
use rustix::thread::no_new_privs;

/// `IPPROTO_MPTCP`.
const MULTIPATH_TCP: u32 = 262;

/// What was tried, and how.
type Attempt = (&'static str, fn() -> io::Result<()>);

const ATTEMPTS: &[Attempt] = &[
    ("open a file of the machine", || File::open("/etc/passwd").map(drop)),
    ("start a program", || Command::new("/bin/true").spawn().and_then(|mut child| child.wait()).map(drop)),
    ("signal another process", || Ok(test_kill_process(parent()?)?)),
    ("read another process's memory", || {
        File::open(format!("/proc/{}/mem", parent()?.as_raw_nonzero())).map(drop)
    }),
    ("take another process's descriptor", || {
        let parent = pidfd_open(parent()?, PidfdFlags::empty())?;
        Ok(pidfd_getfd(parent, 0, PidfdGetfdFlags::empty()).map(drop)?)
    }),
    ("connect over TCP", || TcpStream::connect((Ipv4Addr::LOCALHOST, 9)).map(drop).or_else(answered)),
    ("listen on TCP", || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)),
    ("make a socket for UDP", || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)),
    ("make a socket for multipath TCP", || {
        let protocol = std::num::NonZeroU32::new(MULTIPATH_TCP).map(Protocol::from_raw);
        Ok(socket(AddressFamily::INET, SocketType::STREAM, protocol).map(drop)?)
    }),
    ("make a unix socket", || UnixDatagram::unbound().map(drop)),
    ("be looked into by processes of its user", || {
        unless(dumpable_behavior()? == DumpableBehavior::NotDumpable)
    }),
    ("gain privileges by executing a program", || unless(no_new_privs()?)),
];

/// The attempts that got through, of a program that was hardened and confined without any power, and those
/// that did not.
pub fn escapes() -> (Vec<&'static str>, Vec<&'static str>) {
    let (through, stopped): (Vec<_>, Vec<_>) = ATTEMPTS.iter().partition(|(_, attempt)| attempt().is_ok());
    let names = |attempts: Vec<&Attempt>| attempts.into_iter().map(|(name, _)| *name).collect();
    (names(through), names(stopped))
}

fn unless(is_stopped: bool) -> io::Result<()> {
    if is_stopped { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

fn parent() -> io::Result<Pid> {
    getppid().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// A refusal by the other side means that the connection was tried.
fn answered(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::ConnectionRefused { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_program_is_not_confined() {
        let (through, _) = escapes();
        for name in [
            "open a file of the machine",
            "start a program",
            "make a socket for UDP",
            "make a unix socket",
            "be looked into by processes of its user",
        ] {
            assert!(through.contains(&name), "{name}: {through:?}");
        }
    }
}
