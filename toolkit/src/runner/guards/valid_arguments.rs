//! The body is a JSON object that fits the tool's schema. What the session has kept for it is added.

use super::{Check, Guard};
use crate::runner::call::PendingCall;

pub(super) struct ValidArguments;

impl Guard for ValidArguments {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let is_valid = call.parts().and_then(|(tool, arguments)| tool.validate(arguments));
        if let (Ok(()), Ok(tool), Ok(arguments)) = (&is_valid, &call.tool, &mut call.arguments) {
            tool.complete(arguments, &call.info.scope);
        }
        is_valid.into()
    }
}
