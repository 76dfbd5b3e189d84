//! Where the output of a call goes while the call still runs.

use std::fmt::Debug;

/// A part of an output, with the secrets in it.
#[derive(Debug, Clone, Copy)]
pub struct OutputPart<'a> {
    /// Its number. Numbers grow.
    pub seq: u64,
    /// `stdout` or `stderr`.
    pub stream: &'static str,
    /// As it came.
    pub bytes: &'a [u8],
    /// What the same stream wrote before it, if a private key began there.
    pub before: &'a [u8],
}

/// Takes the output of a call as it comes. It keeps no call waiting for its caller.
pub trait OutputSink: Debug + Send + Sync {
    /// The command runs, or the process to read was found: nothing refuses the call any more.
    fn begin(&self);

    /// The next part.
    fn take(&self, part: OutputPart<'_>);

    /// So many bytes before the next part, in all, are not there any more.
    fn lose(&self, bytes: u64);
}
