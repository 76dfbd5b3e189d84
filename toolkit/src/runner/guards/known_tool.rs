//! The tool exists.

use std::sync::Arc;

use protocol::{ErrorCode, ToolError};

use super::{Check, Guard};
use crate::registry::AnyTool;
use crate::runner::call::PendingCall;
use crate::{Registry, arguments};

pub(super) struct KnownTool;

impl Guard for KnownTool {
    fn name(&self) -> &'static str {
        "known tool"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        call.tool.as_ref().map(drop).map_err(Clone::clone).into()
    }
}

/// The tool with this name, or an error that lists the tools.
pub(in crate::runner) fn find(registry: &Registry, name: &str) -> Result<Arc<dyn AnyTool>, ToolError> {
    registry.get(name).cloned().ok_or_else(|| {
        let near = arguments::nearest(name, registry.names());
        let meant = near.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
        let names = registry.names().collect::<Vec<_>>().join(", ");
        let message = format!("No such tool: `{}`.{meant}", arguments::elide(name, 60));
        ToolError::new(ErrorCode::UnknownTool, message).with_hint(format!("The tools are: {names}."))
    })
}
