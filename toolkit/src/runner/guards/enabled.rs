//! The operator has not disabled the tool.

use std::collections::BTreeSet;

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard};
use crate::RunnerSettings;
use crate::runner::call::PendingCall;

pub(super) struct Enabled {
    disabled: BTreeSet<String>,
}

impl Enabled {
    pub(super) fn new(settings: &RunnerSettings) -> Self {
        Self { disabled: settings.disabled.clone() }
    }
}

impl Guard for Enabled {
    fn name(&self) -> &'static str {
        "enabled"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let name = &call.info.tool;
        if !self.disabled.contains(name) {
            return Ok(()).into();
        }
        let message = format!("The tool `{name}` is disabled by AUTONOUS_TOOL_DISABLED.");
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message)).into()
    }
}
