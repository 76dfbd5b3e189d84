//! `schedule_list`: the schedules of this chat.

use protocol::effect::{Answer, Ask, Schedule};
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use crate::outgoing::PUSHED;
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;

/// Lists the reminders and repeated tasks of this chat, the next one first.
///
/// # Details
///
/// Schedules that have ended are not listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleListArguments {}

/// The schedules.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ScheduleListData {
    /// The next one first.
    schedules: Vec<Schedule>,
}

pub(crate) struct ScheduleList(pub(super) ToolContext);

impl Tool for ScheduleList {
    type Arguments = ScheduleListArguments;
    type Data = ScheduleListData;
    const NAME: &'static str = "schedule_list";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const CHANNELS: &'static [&'static str] = PUSHED;

    fn example(&self) -> Value {
        json!({})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    touches_nothing!();

    fn run(&self, _: ScheduleListArguments, call: &Call) -> Outcome<ScheduleListData> {
        match self.0.supervisor()?.ask(call, Ask::ListSchedules)? {
            Answer::Schedules { schedules, lines, now } => {
                let none = if lines.is_empty() { "This chat has no schedules.\n" } else { "" };
                let stdout = format!("{}{none}It is {now} now.\n", lines.concat());
                Ok(Success { stdout, data: ScheduleListData { schedules }, ..Success::default() })
            }
            other => Err(unexpected(&other).into()),
        }
    }
}
