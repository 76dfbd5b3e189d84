//! `schedule_list`: the schedules of this chat.

use protocol::{Annotations, Risk, SessionId, now_ms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{InChannel, ScheduleData, line, not_stored};
use crate::channel_tools::sending::wait;
use crate::store::schedules;
use crate::timing;

/// Lists the reminders and repeated tasks of this chat, the next one first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleListArguments {}

/// The schedules.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ScheduleListData {
    /// The next one first.
    schedules: Vec<ScheduleData>,
}

pub(super) struct ScheduleList(pub(super) InChannel);

impl Tool for ScheduleList {
    type Arguments = ScheduleListArguments;
    type Data = ScheduleListData;
    const NAME: &'static str = "schedule_list";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({})
    }

    fn touches(&self, _: &Value, _: &SessionId) -> Touches {
        Touches::nothing()
    }

    fn run(&self, _: ScheduleListArguments, call: &Call) -> Outcome<ScheduleListData> {
        let chat = self.0.chat(call)?;
        let read = self.0.schedules.store.write(move |tx| schedules::of_chat(tx, &chat));
        let found = wait(read).map_err(not_stored)?;
        let mut stdout: String = found.iter().map(line).collect();
        if found.is_empty() {
            stdout.push_str("This chat has no schedules.\n");
        }
        stdout.push_str(&format!("It is {} now.\n", timing::shown(now_ms(), &jiff::tz::TimeZone::UTC)));
        let data = ScheduleListData { schedules: found.iter().map(ScheduleData::from).collect() };
        Ok(Success { stdout, data, ..Success::default() })
    }
}
