//! The tool exists.

use super::{Check, Guard};
use crate::runner::call::PendingCall;

pub(super) struct KnownTool;

impl Guard for KnownTool {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        call.tool.as_ref().map(drop).map_err(Clone::clone).into()
    }
}
