//! Messages between the processes of the sandbox.
//!
//! Server to spawner: one end of a socket pair, which asks for a sandbox, and perhaps a memory file with
//! an [`Order`]. Server to that sandbox, over the pair: one message
//! with descriptors, among them a memory file with the [`Job`], then [`SignalRequest`]s; closing the pair
//! ends the command. Back over it: [`Report`]s. All ends are forks of one program, so the format has no
//! versions.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::command::{CommandSpec, Cover, Limits, OwnDirectory, raw_path};
use crate::step::{During as _, Failure, Step, StepError};

/// More than any report has; the longest has a path.
const MAX_REPORT_BYTES: usize = 8 * 1024;

/// More than a request to a running command has.
const MAX_REQUEST_BYTES: usize = 16;

/// The longest job: more than the kernel's limits on an argument list and on mounts allow.
const MAX_JOB_BYTES: u64 = 64 << 20;

/// What the confined process writes right before it executes the program.
pub(crate) const CONFINED: u8 = b'!';

/// What the confined process does once all layers are in force.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Execute a program.
    Execute(CommandSpec),
    /// Exit at once: this shows that every layer is available.
    Trial(Limits),
    /// Try what must fail and what must work, and write down the results.
    Probe(ProbePlan),
}

impl Job {
    pub(crate) fn limits(&self) -> &Limits {
        match self {
            Self::Execute(spec) => &spec.limits,
            Self::Trial(limits) => limits,
            Self::Probe(plan) => &plan.limits,
        }
    }

    pub(crate) fn has_input(&self) -> bool {
        matches!(self, Self::Execute(spec) if spec.has_input)
    }

    pub(crate) fn has_terminal(&self) -> bool {
        matches!(self, Self::Execute(spec) if spec.has_terminal)
    }

    pub(crate) fn keeps_state(&self) -> bool {
        matches!(self, Self::Execute(spec) if spec.keeps_state)
    }

    /// What the spawner must know before it starts the sandbox; none where any sandbox will do.
    pub(crate) fn order(&self, divided: bool) -> Option<Order> {
        let Self::Execute(spec) = self else { return None };
        // Divided roots are hidden in every sandbox.
        let narrowed = spec.own_directories.clone().filter(|_| !divided);
        let (network, has_terminal) = (spec.network.clone(), spec.has_terminal);
        let order = Order { network, is_offline: spec.is_offline, narrowed, has_terminal };
        (order != Order::default()).then_some(order)
    }

    /// Whether a socket listens for it in its network.
    pub(crate) fn has_listener(&self) -> bool {
        matches!(self, Self::Execute(spec) if !spec.proxy_variables.is_empty())
    }

    pub(crate) fn covers(&self) -> &[Cover] {
        match self {
            Self::Execute(spec) => &spec.covers,
            Self::Trial(_) | Self::Probe(_) => &[],
        }
    }

    pub(crate) fn own_directories(&self) -> &[OwnDirectory] {
        match self {
            Self::Execute(spec) => spec.own_directories.as_deref().unwrap_or_default(),
            Self::Probe(plan) => &plan.own_directories,
            Self::Trial(_) => &[],
        }
    }
}

/// How a sandbox differs from those that are prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The network that it shares with others.
    pub(crate) network: Option<String>,
    /// Whether it has no network, although others have one.
    pub(crate) is_offline: bool,
    /// All that it sees of roots that are not divided. Landlock's rules are about what is there before the
    /// command is known.
    pub(crate) narrowed: Option<Vec<OwnDirectory>>,
    /// Whether it has terminals of its own.
    pub(crate) has_terminal: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProbePlan {
    /// A private file outside the roots.
    #[serde(with = "raw_path")]
    pub(crate) outside: PathBuf,
    #[serde(with = "raw_path")]
    pub(crate) root: PathBuf,
    pub(crate) own_directories: Vec<OwnDirectory>,
    pub(crate) server_pid: i32,
    pub(crate) tcp_port: u16,
    pub(crate) udp_port: u16,
    pub(crate) abstract_name: String,
    #[serde(with = "raw_path")]
    pub(crate) socket_directory: PathBuf,
    /// Whether to test the limits too, which takes longer.
    pub(crate) test_limits: bool,
    pub(crate) limits: Limits,
}

/// What the server asks of the init process of a running command, over the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignalRequest {
    /// Its number.
    pub(crate) signal: i32,
    pub(crate) receivers: Receivers,
}

/// Which processes of a command get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Receivers {
    /// The command's first process and those in its group, as a key on a terminal reaches them.
    Group,
    /// All of them.
    All,
}

/// How a command ended, as init saw it, or the spawner if init did not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The raw wait status of the command's first process.
    pub(crate) status: i32,
    /// Whether the lifeline was closed before the command ended by itself.
    pub(crate) killed: bool,
    /// Whether it was ended because all its processes together had too much memory.
    pub(crate) memory_exceeded: bool,
    /// Of all its processes.
    pub(crate) cpu_micros: u64,
    /// Resident memory of its largest process.
    pub(crate) peak_kib: u64,
}

/// One message on the way back.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The spawner is ready, or a command is confined and waits.
    Started {
        /// Whether commands get memory cgroups; only the spawner says so.
        has_cgroups: bool,
    },
    /// The command did not start; nothing follows.
    Failed(Failure),
    /// The command ended and its processes are gone; nothing follows.
    Done(Outcome),
}

impl Report {
    /// Sends the report. It is no error if the reader has gone.
    pub(crate) fn send(&self, socket: impl AsFd) {
        let _ = send(socket, &encode(self), SendFlags::NOSIGNAL);
    }

    /// Waits for the next report; none if no valid one will come.
    pub(crate) fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<Self>> {
        let mut buffer = vec![0; MAX_REPORT_BYTES];
        loop {
            match recv(socket, buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((_, 0)) => return Ok(None),
                Ok((_, length)) => return Ok(decode(&buffer[..length])),
                // A reset says once that the other end left something unread; its reports come after that.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl SignalRequest {
    /// Sends the request. It is no error if the command has ended.
    pub(crate) fn send(self, socket: impl AsFd) {
        let _ = send(socket, &encode(&self), SendFlags::NOSIGNAL);
    }

    /// Takes the next request that is there; none if the other end is closed. What is none is skipped.
    pub(crate) fn receive(socket: impl AsFd) -> Option<Option<Self>> {
        let mut buffer = [0; MAX_REQUEST_BYTES];
        match recv(socket, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => None,
            Ok((_, length)) => Some(decode(&buffer[..length])),
            Err(Errno::INTR | Errno::AGAIN) => Some(None),
            Err(_) => None,
        }
    }
}

/// The job or order in a memory file.
pub(crate) fn read_file<T: DeserializeOwned>(file: &OwnedFd) -> Result<T, StepError> {
    let mut bytes = Vec::new();
    let mut file = File::from(file.try_clone().during(Step::Request)?);
    file.rewind().during(Step::Request)?;
    file.take(MAX_JOB_BYTES).read_to_end(&mut bytes).during(Step::Request)?;
    decode(&bytes).ok_or_else(|| StepError::new(Step::Request, libc::EBADMSG))
}

/// A socket pair for reports; it keeps the borders of messages.
pub(crate) fn socket_pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("messages have only types that postcard supports")
}

/// The message in these bytes; none if they are not one.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::time::Duration;

    use super::*;
    use crate::command::CoverKind;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let not_utf8 = OsString::from_vec(vec![0xff, b'\n']);
        let limits = Limits::for_timeout(Duration::from_secs(30));
        let own = OwnDirectory { path: not_utf8.clone().into(), device: 3, inode: u64::MAX, read_only: true };
        let spec = CommandSpec {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), not_utf8.clone()],
            environment: vec![("A".into(), "b=c".into()), ("EMPTY".into(), "".into())],
            has_input: true,
            has_terminal: true,
            keeps_state: true,
            workdir: not_utf8.clone().into(),
            limits,
            covers: vec![Cover {
                path: not_utf8.clone().into(),
                device: 1,
                inode: u64::MAX,
                kind: CoverKind::Pin,
            }],
            network: Some("chat:7".to_owned()),
            proxy_variables: Vec::new(),
            is_offline: true,
            own_directories: Some(vec![own.clone()]),
        };
        let plan = ProbePlan {
            outside: "/o/secret".into(),
            root: not_utf8.clone().into(),
            own_directories: vec![own],
            server_pid: 77,
            tcp_port: 8701,
            udp_port: 8702,
            abstract_name: "name".to_owned(),
            socket_directory: "/o".into(),
            test_limits: true,
            limits,
        };
        for job in [Job::Execute(spec), Job::Trial(limits), Job::Probe(plan)] {
            let received: Job = decode(&encode(&job)).unwrap();
            assert_eq!(format!("{received:?}"), format!("{job:?}"));
        }
        let outcome =
            Outcome { status: 256, killed: true, memory_exceeded: true, cpu_micros: 7, peak_kib: 8 };
        let failed = Report::Failed(StepError::new(Step::Proc, libc::EPERM).into());
        let moved = Report::Failed(Failure::CoverMoved(not_utf8.into()));
        for report in [Report::Started { has_cgroups: true }, failed, moved, Report::Done(outcome)] {
            assert_eq!(decode(&encode(&report)), Some(report));
        }
    }

    #[test]
    fn malformed_messages_are_refused() {
        let whole = encode(&Report::Failed(StepError::new(Step::Proc, libc::EPERM).into()));
        let cut = (0..whole.len()).map(|length| &whole[..length]);
        for bytes in cut.chain([&[9; 8][..], &[1, 0, 200, 0]]) {
            assert_eq!(decode::<Report>(bytes), None, "{bytes:?}");
        }
    }
}
