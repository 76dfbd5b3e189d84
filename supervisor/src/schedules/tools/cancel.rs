//! `schedule_cancel`: ends a schedule of this chat.

use protocol::{Annotations, ErrorCode, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{InChannel, ScheduleData, line, not_stored};
use crate::channel_tools::sending::wait;
use crate::store::schedules;

/// Ends a reminder or repeated task of this chat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleCancelArguments {
    /// The ID from `schedule_list`, or the end of it.
    #[schemars(length(min = 1, max = 64))]
    schedule_id: String,
}

pub(super) struct ScheduleCancel(pub(super) InChannel);

impl Tool for ScheduleCancel {
    type Arguments = ScheduleCancelArguments;
    type Data = ScheduleData;
    const NAME: &'static str = "schedule_cancel";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"schedule_id": "019a0000-0000-7000-8000-000000000120"})
    }

    fn touches(&self, _: &Value, _: &SessionId) -> Touches {
        Touches::nothing()
    }

    fn run(&self, arguments: ScheduleCancelArguments, call: &Call) -> Outcome<ScheduleData> {
        let chat = self.0.chat(call)?;
        let (id, by, parent, task) =
            (arguments.schedule_id, call.session.to_string(), call.id.clone(), call.task.clone());
        let named = id.clone();
        let end = self
            .0
            .schedules
            .store
            .write(move |tx| schedules::cancel(tx, &chat, &named, &by, &parent, task.as_ref()));
        let Some(ended) = wait(end).map_err(not_stored)? else {
            let message = format!("`{id}` is not the ID of one schedule of this chat.");
            let error = ToolError::new(ErrorCode::NotFound, message);
            return Err(error.with_hint("Call `schedule_list` for the IDs.").into());
        };
        let stdout = format!("Ended: {}", line(&ended));
        Ok(Success { stdout, data: ScheduleData::from(&ended), ..Success::default() })
    }
}
