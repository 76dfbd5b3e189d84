//! Finds the tool of a call by its name.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::{ErrorCode, SessionId, ToolError};

use crate::registry::AnyTool;
use crate::{Registry, WORKER_FUNCTIONS, arguments};

/// The tool with this name, or an error that says which tool was meant and lists those of the session.
pub(super) fn find(
    registry: &Registry,
    disabled: &BTreeSet<String>,
    name: &str,
    session: &SessionId,
) -> Result<Arc<dyn AnyTool>, ToolError> {
    registry.get(name).cloned().ok_or_else(|| {
        let works = |name: &&str| registry.works_in(name, session.channel());
        let names: Vec<&str> = registry.names().filter(works).collect();
        let listed = names.join(", ");
        let (near, hint) = match registry.meant_by(name, disabled) {
            Some(hint) => (None, format!("{hint} The tools are: {listed}.")),
            None => (arguments::nearest(name, names.into_iter()), format!("The tools are: {listed}.")),
        };
        if let Some(of_worker) = of_worker(name) {
            return of_worker;
        }
        let meant = near.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
        let message = format!("No such tool: `{}`.{meant}", arguments::elide(name, 60));
        ToolError::new(ErrorCode::UnknownTool, message).with_hint(hint)
    })
}

/// The error for a function of the worker; none if it is none.
fn of_worker(name: &str) -> Option<ToolError> {
    let message = || format!("The tool `{name}` is one of the worker, not of this server.");
    WORKER_FUNCTIONS.contains(&name).then(|| {
        ToolError::new(ErrorCode::UnknownTool, message())
            .with_hint("It runs within a task: send a message that asks for it.")
    })
}

/// The transfer with this name. Only a route asks, so that a wrong name is the server's own mistake.
pub(super) fn find_transfer(registry: &Registry, name: &str) -> Result<Arc<dyn AnyTool>, ToolError> {
    let message = || format!("This server has no transfer `{name}`.");
    registry.transfer(name).cloned().ok_or_else(|| ToolError::new(ErrorCode::Internal, message()))
}
