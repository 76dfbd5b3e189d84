//! A command as it is asked for, and the bounds of its processes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::wire::{Decoder, Encoder};

/// The private home directory of a command in tier A; it is empty at the start and gone at the end.
pub const HOME: &str = "/var/home";

/// How many bytes the private `/tmp` and home of tier A hold, each.
pub const PRIVATE_BYTES: u64 = 256 << 20;

/// How many bytes the private `/dev/shm` of tier A holds.
pub const SHARED_MEMORY_BYTES: u64 = 64 << 20;

/// The bounds of each process of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Seconds on a processor, for one process.
    pub cpu_seconds: u64,
    /// Bytes of address space, for one process.
    pub address_space_bytes: u64,
    /// Bytes of the largest file that may be written.
    pub file_size_bytes: u64,
    /// Open files, for one process.
    pub open_files: u64,
    /// Processes and threads at once, for the whole command.
    pub processes: u64,
}

impl Limits {
    /// The bounds of a command that may run this long: its time and 5 s more on a processor.
    pub fn for_timeout(timeout: Duration) -> Self {
        Self {
            cpu_seconds: timeout.as_secs() + 5,
            address_space_bytes: 4 << 30,
            file_size_bytes: 1 << 30,
            open_files: 1024,
            processes: 512,
        }
    }

    /// Appends the bounds to a message.
    pub(crate) fn encode(&self, to: &mut Encoder) {
        to.number(self.cpu_seconds)
            .number(self.address_space_bytes)
            .number(self.file_size_bytes)
            .number(self.open_files)
            .number(self.processes);
    }

    /// Takes bounds from a message.
    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            cpu_seconds: from.number()?,
            address_space_bytes: from.number()?,
            file_size_bytes: from.number()?,
            open_files: from.number()?,
            processes: from.number()?,
        })
    }
}

/// A program to run, without a shell in between.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program, absolute, as it is called inside.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// Its whole environment; the sandbox sets `HOME` and `TMPDIR` by itself.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts, absolute.
    pub workdir: PathBuf,
    /// Its bounds.
    pub limits: Limits,
}

impl CommandSpec {
    /// Appends the command to a message.
    pub(crate) fn encode(&self, to: &mut Encoder) {
        let variables: Vec<Vec<u8>> = self
            .environment
            .iter()
            .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
            .collect();
        to.bytes(self.program.as_os_str().as_bytes())
            .list(self.arguments.iter().map(|argument| argument.as_bytes()))
            .list(variables.iter().map(Vec::as_slice))
            .bytes(self.workdir.as_os_str().as_bytes());
        self.limits.encode(to);
    }

    /// Takes a command from a message.
    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some(Self {
            program: text(from.bytes()?).into(),
            arguments: from.list()?.into_iter().map(text).collect(),
            environment: from.list()?.into_iter().filter_map(variable).collect(),
            workdir: text(from.bytes()?).into(),
            limits: Limits::decode(from)?,
        })
    }
}

fn variable(bytes: &[u8]) -> Option<(OsString, OsString)> {
    let end = bytes.iter().position(|byte| *byte == b'=')?;
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Some((text(&bytes[..end]), text(&bytes[end + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_arrives_as_it_was_sent() {
        let sent = CommandSpec {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), OsString::from_vec(vec![0xff, b'\n'])],
            environment: vec![("A".into(), "b=c".into()), ("EMPTY".into(), "".into())],
            workdir: "/w".into(),
            limits: Limits::for_timeout(Duration::from_secs(30)),
        };
        let mut message = Encoder::default();
        sent.encode(&mut message);
        let received = CommandSpec::decode(&mut Decoder(&message.finish())).unwrap();
        assert_eq!(format!("{received:?}"), format!("{sent:?}"));
    }
}
