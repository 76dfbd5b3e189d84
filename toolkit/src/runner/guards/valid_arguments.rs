//! The body is a JSON object that fits the tool's schema.

use super::{Check, Guard};
use crate::runner::call::PendingCall;

pub(super) struct ValidArguments;

impl Guard for ValidArguments {
    fn name(&self) -> &'static str {
        "valid arguments"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        call.parts().and_then(|(tool, arguments)| tool.validate(arguments)).into()
    }
}
