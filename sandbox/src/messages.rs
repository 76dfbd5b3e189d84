//! What the processes of the sandbox tell one another.
//!
//! Server to spawner: one datagram that only carries descriptors. Server to the process that holds a
//! command: a sealed-off file with the [`Job`]; its own end of a socket pair, whose closing ends the
//! command. Back over that socket pair: [`Report`]s.

use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::command::{CommandSpec, Limits};
use crate::inside::probe::Plan;
use crate::step::{Step, StepError};
use crate::wire::{Decoder, Encoder};

/// What the held process does once all layers are in force.
#[derive(Debug)]
pub enum Job {
    /// It becomes a program.
    Execute(CommandSpec),
    /// It ends, having shown that every layer can be had.
    Trial(Limits),
    /// It tries what must not succeed, and writes down what happened.
    Probe(Plan),
}

impl Job {
    /// The bounds of its processes.
    pub fn limits(&self) -> &Limits {
        match self {
            Self::Execute(spec) => &spec.limits,
            Self::Trial(limits) => limits,
            Self::Probe(plan) => &plan.limits,
        }
    }

    /// The job as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Encoder::default();
        match self {
            Self::Execute(spec) => spec.encode(message.number(0)),
            Self::Trial(limits) => limits.encode(message.number(1)),
            Self::Probe(plan) => plan.encode(message.number(2)),
        }
        message.finish()
    }

    /// The job that the bytes mean.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut message = Decoder(bytes);
        match message.number()? {
            0 => Some(Self::Execute(CommandSpec::decode(&mut message)?)),
            1 => Some(Self::Trial(Limits::decode(&mut message)?)),
            2 => Some(Self::Probe(Plan::decode(&mut message)?)),
            _ => None,
        }
    }
}

/// How a command ended, as the process that held it saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The raw wait status of the command's first process.
    pub status: i32,
    /// Whether the lifeline was closed before the command ended by itself.
    pub killed: bool,
    /// Processor time of all its processes, in microseconds.
    pub cpu_micros: u64,
    /// Resident memory of its largest process, in KiB.
    pub peak_kib: u64,
    /// Control files that were not there before.
    pub created_control_files: Vec<PathBuf>,
    /// Whether the search for them reached its end.
    pub search_complete: bool,
}

/// One message on the way back.
#[derive(Debug)]
pub enum Report {
    /// The spawner is ready, or the program was executed.
    Started,
    /// A step failed; nothing follows.
    Failed(StepError),
    /// The command's first process ended with this raw wait status.
    Ended(i32),
    /// The command ended and its processes are gone; nothing follows.
    Done(Outcome),
}

impl Report {
    /// The report as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Encoder::default();
        match self {
            Self::Started => message.number(0),
            Self::Failed(error) => {
                message.number(1).number(u64::from(error.step as u8)).number(signed(error.errno()))
            }
            Self::Ended(status) => message.number(2).number(signed(*status)),
            Self::Done(outcome) => message
                .number(3)
                .number(signed(outcome.status))
                .number(u64::from(outcome.killed))
                .number(outcome.cpu_micros)
                .number(outcome.peak_kib)
                .number(u64::from(outcome.search_complete))
                .list(outcome.created_control_files.iter().map(|path| path.as_os_str().as_bytes())),
        };
        message.finish()
    }

    /// The report that the bytes mean.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut message = Decoder(bytes);
        Some(match message.number()? {
            0 => Self::Started,
            1 => {
                let step = Step::from_byte(u8::try_from(message.number()?).ok()?)?;
                Self::Failed(StepError::from_errno(step, unsigned(message.number()?)?))
            }
            2 => Self::Ended(unsigned(message.number()?)?),
            3 => Self::Done(Outcome {
                status: unsigned(message.number()?)?,
                killed: message.number()? != 0,
                cpu_micros: message.number()?,
                peak_kib: message.number()?,
                search_complete: message.number()? != 0,
                created_control_files: message
                    .list()?
                    .into_iter()
                    .map(|path| std::ffi::OsString::from_vec(path.to_vec()).into())
                    .collect(),
            }),
            _ => return None,
        })
    }
}

fn signed(number: i32) -> u64 {
    u64::from(number.cast_unsigned())
}

fn unsigned(number: u64) -> Option<i32> {
    u32::try_from(number).ok().map(u32::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_arrives_as_it_was_sent() {
        let sent = Outcome {
            status: 256,
            killed: true,
            cpu_micros: 7,
            peak_kib: 8,
            created_control_files: vec!["/w/.envrc".into()],
            search_complete: true,
        };
        let bytes = Report::Done(sent.clone()).encode();
        assert!(matches!(Report::decode(&bytes), Some(Report::Done(received)) if received == sent));
    }

    #[test]
    fn a_failed_step_keeps_its_name_and_answer() {
        let bytes = Report::Failed(StepError::from_errno(Step::Proc, libc::EPERM)).encode();
        let Some(Report::Failed(error)) = Report::decode(&bytes) else { panic!("another report") };
        assert_eq!((error.step, error.errno()), (Step::Proc, libc::EPERM));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for bytes in [&b""[..], &[9; 8], &[1, 0, 0, 0, 0, 0, 0, 0, 200]] {
            assert!(Report::decode(bytes).is_none());
        }
    }
}
