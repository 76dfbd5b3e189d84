//! `schedule_cancel`: ends a schedule of this chat.

use protocol::effect::{Answer, Ask, Schedule};
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use crate::outgoing::PUSHED;
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;

/// Ends a reminder or repeated task of this chat.
///
/// # Details
///
/// A task that it has queued already still runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleCancelArguments {
    /// The ID from `schedule_list`, or the end of it.
    #[schemars(length(min = 1, max = 64))]
    schedule_id: String,
}

pub(crate) struct ScheduleCancel(pub(super) ToolContext);

impl Tool for ScheduleCancel {
    type Arguments = ScheduleCancelArguments;
    type Data = Schedule;
    const NAME: &'static str = "schedule_cancel";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;
    const CHANNELS: &'static [&'static str] = PUSHED;

    fn example(&self) -> Value {
        json!({"schedule_id": "019a0000-0000-7000-8000-000000000120"})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    touches_nothing!();

    fn run(&self, arguments: ScheduleCancelArguments, call: &Call) -> Outcome<Schedule> {
        let ask = Ask::CancelSchedule { schedule_id: arguments.schedule_id };
        match self.0.supervisor()?.ask(call, ask)? {
            Answer::Schedule { schedule, line, .. } => {
                let stdout = format!("Ended: {line}");
                Ok(Success { stdout, data: *schedule, ..Success::default() })
            }
            other => Err(unexpected(&other).into()),
        }
    }
}
