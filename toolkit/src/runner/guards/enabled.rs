//! The operator has not disabled the tool.

use std::collections::BTreeSet;

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard};
use crate::runner::call::PendingCall;

/// With the disabled tools.
pub(super) struct Enabled(pub(super) BTreeSet<String>);

impl Guard for Enabled {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let name = &call.info.tool;
        if !self.0.contains(name) {
            return Ok(()).into();
        }
        Err(disabled(name)).into()
    }
}

/// The error for a call of what the operator has disabled.
pub fn disabled(name: &str) -> ToolError {
    let message = format!("The {name} tool is disabled by AUTONOUS_TOOL_DISABLED.");
    ToolError::new(ErrorCode::ToolNotAllowed, message)
}
