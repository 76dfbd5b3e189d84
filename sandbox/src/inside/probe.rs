//! The self-check's inner half: a held process that tries what must not succeed, and what must.
//!
//! It runs in place of a program, behind the same layers, and writes one line per attempt. It believes
//! nothing about how it is held; what an attempt's success means is decided outside.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{AddressFamily, SocketType, socket};

use crate::calls::{self, Side, attempts};
use crate::command::Limits;
use crate::step::StepError;
use crate::wire::{Decoder, Encoder};

/// More processes than any bound lets a command have.
const FAR_TOO_MANY_PROCESSES: u32 = 4096;

/// More memory than any bound lets a process have.
const FAR_TOO_MUCH_MEMORY: usize = 1 << 40;

/// What the probe is to try.
#[derive(Debug, Clone)]
pub struct Plan {
    /// A private file outside the roots.
    pub outside: PathBuf,
    /// A root.
    pub root: PathBuf,
    /// The server's process id.
    pub server: i32,
    /// Where the server listens over TCP and UDP on loopback.
    pub port: u16,
    /// The name of the server's abstract socket.
    pub abstract_name: String,
    /// The path of the server's socket.
    pub socket: PathBuf,
    /// Whether to try the bounds too, which takes longer.
    pub bounds: bool,
    /// The bounds.
    pub limits: Limits,
}

impl Plan {
    /// Appends the plan to a message.
    pub fn encode(&self, to: &mut Encoder) {
        to.bytes(self.outside.as_os_str().as_bytes())
            .bytes(self.root.as_os_str().as_bytes())
            .number(u64::from(self.server.cast_unsigned()))
            .number(self.port.into())
            .bytes(self.abstract_name.as_bytes())
            .bytes(self.socket.as_os_str().as_bytes())
            .number(self.bounds.into());
        self.limits.encode(to);
    }

    /// Takes a plan from a message.
    pub fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
        Some(Self {
            outside: path(from.bytes()?),
            root: path(from.bytes()?),
            server: u32::try_from(from.number()?).ok()?.cast_signed(),
            port: u16::try_from(from.number()?).ok()?,
            abstract_name: String::from_utf8(from.bytes()?.to_vec()).ok()?,
            socket: path(from.bytes()?),
            bounds: from.number()? != 0,
            limits: Limits::decode(from)?,
        })
    }
}

/// An attempt; success means that it got through.
pub struct Attempt {
    /// What it is called on its line.
    pub name: &'static str,
    /// What it tried, in words.
    pub text: &'static str,
    run: fn(&Plan) -> io::Result<()>,
}

macro_rules! attempt {
    ($name:literal, $text:literal, $run:expr) => {
        Attempt { name: $name, text: $text, run: $run }
    };
}

/// What must fail.
pub const HOSTILE: &[Attempt] = &[
    attempt!("read", "read a file outside the roots", |plan| fs::read(&plan.outside).map(drop)),
    attempt!("write", "write a file outside the roots", |plan| File::options()
        .append(true)
        .open(&plan.outside)
        .map(drop)),
    attempt!("link", "link a file outside into a root", |plan| link(plan)),
    attempt!("stat", "see a file outside the roots", |plan| fs::metadata(&plan.outside).map(drop)),
    attempt!("chmod", "change the mode of a file outside the roots", |plan| {
        fs::set_permissions(&plan.outside, Permissions::from_mode(0o600))
    }),
    attempt!("signal", "signal the server", |plan| calls::kill(plan.server, 0)),
    attempt!("environ", "read another process's environment", |_| other_environment()),
    attempt!("unix", "connect to a socket of the server", |plan| UnixStream::connect(&plan.socket).map(drop)),
    attempt!("abstract", "connect to an abstract socket of the server", |plan| {
        let address = UnixAddress::from_abstract_name(&plan.abstract_name)?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    attempt!("io_uring", "set up io_uring", |_| attempts::io_uring()),
    attempt!("bpf", "load a program into the kernel", |_| unless_denied(attempts::bpf())),
    attempt!("unshare", "make a namespace", |_| calls::unshare(libc::CLONE_NEWUSER)),
    attempt!("foreign", "make a system call of another architecture", |_| survives(attempts::foreign_call)),
    attempt!("terminal", "type into a terminal", |_| {
        let null = File::open("/dev/null")?;
        unless_denied(attempts::push_into_terminal(null.as_fd()))
    }),
    attempt!("core_pattern", "change where the kernel sends core dumps", |_| {
        File::options().write(true).open("/proc/sys/kernel/core_pattern").map(drop)
    }),
];

/// What must fail, and takes longer to show.
pub const BOUNDS: &[Attempt] = &[
    attempt!("memory", "take memory without bound", |_| {
        Vec::<u8>::new().try_reserve_exact(FAR_TOO_MUCH_MEMORY).map_err(io::Error::other)
    }),
    attempt!("processes", "start processes without bound", |_| too_many_processes()),
];

/// What must succeed.
pub const HONEST: &[Attempt] = &[
    attempt!("root", "write in a root", |plan| {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(CWD, &plan.root, flags, Mode::from_raw_mode(0o600)).map(drop).map_err(io::Error::from)
    }),
    attempt!("null", "write to /dev/null", |_| fs::write("/dev/null", "x")),
];

/// Tries everything and ends. The descriptors that an exec would have closed are closed first; that is
/// also what tells the keeper that the command has begun.
pub fn carry_out(plan: &Plan) -> Result<Infallible, StepError> {
    let _ = calls::close_range(3, u32::MAX, false);
    let bounds = if plan.bounds { BOUNDS } else { &[] };
    for attempt in HOSTILE.iter().chain(HONEST).chain(bounds) {
        let line = match (attempt.run)(plan) {
            Ok(()) => format!("{}\tdone\n", attempt.name),
            Err(error) => format!("{}\t{error}\n", attempt.name),
        };
        let _ = rustix::io::write(rustix::stdio::stdout(), line.as_bytes());
    }
    reach_out(plan);
    calls::exit(0)
}

/// Packets to the server; whether they arrive is seen there.
fn reach_out(plan: &Plan) {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, plan.port));
    let _ = TcpStream::connect_timeout(&server, Duration::from_millis(100));
    if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
        let _ = socket.send_to(b"probe", server);
    }
    if let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, None) {
        let _ = attempts::fast_open(&socket, server);
    }
}

fn link(plan: &Plan) -> io::Result<()> {
    let place = plan.root.join(format!(".sandbox-probe-{}", plan.server));
    fs::hard_link(&plan.outside, &place)?;
    fs::remove_file(&place)
}

fn other_environment() -> io::Result<()> {
    let own = std::process::id().to_string();
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let number = name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        let other = number && name != OsStr::new(&own);
        if other && fs::read(process.path().join("environ")).is_ok_and(|environment| !environment.is_empty())
        {
            return Ok(());
        }
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// A call that the filter lets through may still fail for its arguments: only EPERM is the filter's.
fn unless_denied(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}

/// Runs what may end the process in one of its own.
fn survives(attempt: fn()) -> io::Result<()> {
    match calls::fork()? {
        Side::Child => {
            attempt();
            calls::exit(0)
        }
        Side::Parent(child) => match calls::wait_for(child)?.status {
            0 => Ok(()),
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        },
    }
}

/// The processes wait until the keeper ends them with the probe.
fn too_many_processes() -> io::Result<()> {
    for _ in 0..FAR_TOO_MANY_PROCESSES {
        if matches!(calls::fork()?, Side::Child) {
            rustix::event::pause();
            calls::exit(0);
        }
    }
    Ok(())
}

/// The text of an attempt by its name.
pub fn text_of(name: &str) -> Option<&'static str> {
    HOSTILE
        .iter()
        .chain(BOUNDS)
        .chain(HONEST)
        .find(|attempt| attempt.name == name)
        .map(|attempt| attempt.text)
}

/// Whether an attempt of this name must succeed.
pub fn is_honest(name: &str) -> bool {
    HONEST.iter().any(|attempt| attempt.name == name)
}

/// How many lines a probe that ran to its end has written.
pub fn lines_of(bounds: bool) -> usize {
    HOSTILE.len() + HONEST.len() + if bounds { BOUNDS.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_attempts_are_unique() {
        let mut names: Vec<_> =
            HOSTILE.iter().chain(BOUNDS).chain(HONEST).map(|attempt| attempt.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let sent = Plan {
            outside: "/o/secret".into(),
            root: "/r".into(),
            server: 77,
            port: 8701,
            abstract_name: "name".to_owned(),
            socket: "/o/socket".into(),
            bounds: true,
            limits: Limits::for_timeout(Duration::from_secs(1)),
        };
        let mut message = Encoder::default();
        sent.encode(&mut message);
        let received = Plan::decode(&mut Decoder(&message.finish())).unwrap();
        assert_eq!(format!("{received:?}"), format!("{sent:?}"));
    }
}
