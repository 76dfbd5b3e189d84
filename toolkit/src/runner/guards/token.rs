//! The token of the call may do it. The server's own token may do all that the other guards let pass.

use super::{Check, Guard};
use crate::runner::call::PendingCall;

pub(super) struct OfToken;

impl Guard for OfToken {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let (Some(grant), Ok(tool)) = (call.info.scope.grant(), &call.tool) else { return Ok(()).into() };
        let spec = tool.spec();
        grant.check((&spec.name, spec.annotations, tool.slot()), call.info.scope.session()).into()
    }
}
