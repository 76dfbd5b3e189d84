//! What somebody would do who has taken over a program: tries everything that the confinement is to refuse,
//! and a little that it must allow, and prints one line for each: its name, and `done` or the error.
//!
//! `intruder worker|supervisor|fetcher|fetch|free VICTIM_PID DATA_DIRECTORY TCP_PORT UNIX_SOCKET`: confined
//! as one of them is, or not. A fetch is what the fetcher forks for each request.
//! `intruder victim [harden]` waits to be looked into.
#![expect(unsafe_code, reason = "the attempts are system calls that no crate has in a safe form")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

use libc::{c_int, c_long};
use process::confinement::{Powers, confine, end_forks};
use process::hardening::harden;

struct Target {
    pid: i32,
    data: PathBuf,
    port: u16,
    unix: PathBuf,
}

type Attempt = (&'static str, fn(&Target) -> io::Result<()>);

const ATTEMPTS: &[Attempt] = &[
    ("memory by file", |target| {
        let mut memory = File::open(format!("/proc/{}/mem", target.pid))?;
        memory.seek(SeekFrom::Start(first_address(target.pid)?))?;
        memory.read_exact(&mut [0; 16])
    }),
    ("memory by system call", |target| {
        let mut bytes = [0_u8; 16];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let address = usize::try_from(first_address(target.pid)?).map_err(io::Error::other)?;
        let remote =
            libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes.len() };
        // SAFETY: `local` describes `bytes`; the kernel checks the remote address.
        let read =
            unsafe { libc::process_vm_readv(target.pid, &raw const local, 1, &raw const remote, 1, 0) };
        checked(i64::try_from(read).unwrap_or(-1))
    }),
    ("trace", |target| {
        // SAFETY: neither request reads or writes this process's memory.
        checked(unsafe { libc::ptrace(libc::PTRACE_SEIZE, target.pid, 0, 0) })
    }),
    ("take a descriptor", |target| {
        // SAFETY: no memory is involved, and the descriptors are new.
        unsafe {
            let process = libc::syscall(libc::SYS_pidfd_open, target.pid, 0);
            checked(process)?;
            checked(libc::syscall(libc::SYS_pidfd_getfd, process, 1, 0))
        }
    }),
    ("environment", |target| fs::read(format!("/proc/{}/environ", target.pid)).map(drop)),
    // SAFETY: signal 0 only asks whether one could be sent.
    ("signal", |target| checked(unsafe { libc::kill(target.pid, 0) }.into())),
    ("limits", |target| {
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the pointer is valid for the call. No core dump is what the target has anyway.
        checked(
            unsafe { libc::prlimit(target.pid, libc::RLIMIT_CORE, &raw const limit, std::ptr::null_mut()) }
                .into(),
        )
    }),
    ("read the tokens", |target| fs::read(target.data.join("tokens")).map(drop)),
    ("read the database", |target| fs::read(target.data.join("db/autonous.db")).map(drop)),
    ("read the journal", |target| fs::read(target.data.join("journal/tool-calls.jsonl")).map(drop)),
    ("list the workspace", |target| fs::read_dir(target.data.join("workspace")).map(drop)),
    ("list the skills", |target| fs::read_dir(target.data.join("skills")).map(drop)),
    ("list the outputs", |target| fs::read_dir(target.data.join("output")).map(drop)),
    ("write the database", |target| {
        OpenOptions::new().append(true).open(target.data.join("db/autonous.db")).map(drop)
    }),
    ("write the journal", |target| {
        OpenOptions::new().append(true).open(target.data.join("journal/tool-calls.jsonl")).map(drop)
    }),
    ("plant a file", |target| {
        let planted = target.data.join("workspace/planted");
        fs::write(&planted, "x").and_then(|()| fs::remove_file(planted))
    }),
    ("change a mode", |target| {
        let tokens = target.data.join("tokens");
        fs::set_permissions(tokens, fs::Permissions::from_mode(0o600))
    }),
    ("read the accounts", |_| fs::read("/etc/passwd").map(drop)),
    ("read a program", |_| fs::read("/bin/true").map(drop)),
    ("write to /tmp", |_| {
        let file = std::env::temp_dir().join(format!("intruder-{}", std::process::id()));
        fs::write(&file, "x").and_then(|()| fs::remove_file(file))
    }),
    ("start a program", |_| Command::new("/bin/true").status().map(drop)),
    // SAFETY: the child ends at once; the exit is the kernel's own.
    ("fork", |_| match unsafe { libc::fork() } {
        0 => unsafe { libc::_exit(0) },
        child => checked(child.into()),
    }),
    ("connect to a unix socket", |target| UnixStream::connect(&target.unix).map(drop)),
    ("listen on a port", |_| TcpListener::bind(("127.0.0.1", 0)).map(drop)),
    ("multipath TCP", |_| socket(libc::AF_INET, libc::SOCK_STREAM, 262)),
    ("packets of its own", |_| socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
    ("new user namespace", |_| {
        // SAFETY: no memory is involved.
        checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into())
    }),
    ("io_uring", |_| {
        let mut parameters = [0_u8; 256];
        // SAFETY: the kernel writes at most 120 bytes of parameters.
        checked(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
    }),
];

/// What the worker's own work needs. It comes after the attempts: one of them changes the user's namespace.
const WORK: &[Attempt] = &[
    ("work: connect", |target| TcpStream::connect(("127.0.0.1", target.port)).map(drop)),
    ("work: resolve a name", |target| {
        let mut found = ("localhost", target.port).to_socket_addrs()?;
        found.next().map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }),
    ("work: read the resolver's settings", |_| fs::read("/etc/hosts").map(drop)),
    ("work: start a thread", |_| {
        std::thread::spawn(|| ()).join().map_err(|_| io::Error::other("it panicked"))
    }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["victim", ref rest @ ..] => {
            if rest == ["harden"] {
                harden().expect("a program can harden itself");
            }
            println!("ready");
            let _ = io::stdin().read(&mut [0]);
        }
        [mode, pid, data, port, unix] => {
            let powers = match mode {
                "worker" => Some(Powers::only_connections()),
                "supervisor" => Some(Powers {
                    read_write: vec![data.into()],
                    read_only: vec!["/etc".into()],
                    connections: true,
                    forks: false,
                }),
                "fetcher" | "fetch" => Some(Powers::connections_and_forks()),
                _ => None,
            };
            if let Some(powers) = powers {
                harden().expect("a program can harden itself");
                confine(&powers).expect("a program can confine itself");
                if mode == "fetch" {
                    end_forks().expect("what was forked can give it up");
                }
            }
            let pid = pid.parse().expect("a process ID");
            let port = port.parse().expect("a port");
            let target = Target { pid, data: data.into(), port, unix: unix.into() };
            for (name, attempt) in WORK.iter().chain(ATTEMPTS) {
                match attempt(&target) {
                    Ok(()) => println!("{name}\tdone"),
                    Err(error) => println!("{name}\t{error}"),
                }
            }
        }
        _ => panic!("see the first lines of this program"),
    }
}

/// An address of the process's memory that holds something.
fn first_address(pid: i32) -> io::Result<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let first = maps.split('-').next().unwrap_or_default();
    u64::from_str_radix(first, 16).map_err(|_| io::ErrorKind::PermissionDenied.into())
}

fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    let socket = unsafe { libc::socket(family, kind, protocol) };
    checked(socket.into())?;
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    assert!(socket.as_raw_fd() > 2);
    Ok(())
}

fn checked(result: c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
