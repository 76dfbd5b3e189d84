//! How a call ends that does not reach its tool.

use protocol::{Envelope, ToolError};

use crate::Failure;

/// Why a call does not reach its tool.
pub(super) enum Stop {
    /// It is refused, and recorded as such.
    Refused(Failure),
    /// It was answered before.
    Replayed(Box<Envelope>),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Refused(error.into())
    }
}
