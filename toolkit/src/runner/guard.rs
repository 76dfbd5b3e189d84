//! A guard: a check that every call has to pass before its tool runs.

use std::io;
use std::pin::Pin;
use std::time::SystemTime;

use protocol::{Data, Envelope, ToolError};

use super::call::{CallInfo, PendingCall};
use super::stop::Stop;
use crate::Success;

pub(super) trait Guard: Send + Sync {
    /// Lets the call pass, stops it, or says what to wait for.
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a>;

    /// Called when a tool has succeeded; an error here fails the call.
    fn succeeded(&self, _call: &CallInfo, _success: &Success<Data>) -> Result<(), ToolError> {
        Ok(())
    }

    /// Called once at the end of every call, including those that a guard has stopped.
    fn ended(&self, _call: &CallInfo, _envelope: &Envelope) {}

    /// Forgets what has expired. Called hourly.
    fn sweep(&self, _now: SystemTime) -> io::Result<()> {
        Ok(())
    }
}

/// The guards by their names in the documented list.
pub(super) type Guards = Vec<(&'static str, Box<dyn Guard>)>;

/// A guard's decision. Only a guard that has to wait pays for a future.
pub(super) enum Check<'a> {
    Done(Result<(), Stop>),
    Wait(Pin<Box<dyn Future<Output = Result<(), Stop>> + Send + 'a>>),
}

impl From<Result<(), ToolError>> for Check<'_> {
    fn from(result: Result<(), ToolError>) -> Self {
        Self::Done(result.map_err(Stop::from))
    }
}
