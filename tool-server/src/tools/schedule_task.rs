//! `schedule_task`: sets a time at which a text becomes a task of this chat.

use protocol::effect::{Answer, Ask, NewSchedule, Schedule};
use protocol::{Annotations, Risk, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::typed;
use toolkit::policy::{Circumstance, Touches};
use toolkit::{Call, Outcome, Scope, Slot, Success, Tool, names_no_files};

use crate::outgoing::PUSHED;
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;

/// Sets a reminder or repeated task: when it is due, `text` comes to you in this chat as a new message.
///
/// Give `at` for one time, or `every` for repetition. Needs the user's time zone; ask if you do not know it.
///
/// # Details
///
/// A time that a clock change skips means the time after the gap. What was due while the bot was off is done
/// once, at most a day late; later ones are not run, and the chat gets a message. A chat has at most 20, none
/// of which comes more often than every 5 minutes, unless settings say otherwise. The user is asked first
/// where the task has read from outside: the web, a file that came in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleTaskArguments {
    /// What you will be asked to do then, such as `Remind Ada to call Anna.`
    #[schemars(length(min = 1, max = 4000))]
    text: String,
    /// Once, at this time: RFC 3339, or local time such as `2026-11-23T09:00`.
    #[serde(default)]
    at: Option<String>,
    /// Repeatedly: five fields of cron, such as `0 9 * * 1-5`.
    #[serde(default)]
    every: Option<String>,
    /// IANA name, such as `Europe/Berlin`; the last one of this chat by default, else UTC.
    #[serde(default)]
    timezone: Option<String>,
    /// With `every`: not after this time.
    #[serde(default)]
    until: Option<String>,
    /// With `every`: at most so often.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    times: Option<u32>,
}

pub(crate) struct ScheduleTask(pub(super) ToolContext);

impl Tool for ScheduleTask {
    type Arguments = ScheduleTaskArguments;
    type Data = Schedule;
    const NAME: &'static str = "schedule_task";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations { destructive: false, ..Annotations::ACTS };
    const SLOT: Slot = Slot::File;
    /// A local chat only gets replies to its own messages: no reminder would show there.
    const CHANNELS: &'static [&'static str] = PUSHED;

    fn example(&self) -> Value {
        json!({"text": "Remind Ada to call Anna.", "every": "0 9 * * 1-5", "timezone": "Europe/Berlin"})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn touches(&self, _: &Value, scope: &Scope) -> Touches {
        let asked = self.0.supervisor().and_then(|one| one.question(scope, Ask::HasSeenOutside));
        match asked {
            Ok(Answer::Yes { yes: false }) => Touches::nothing(),
            _ => Touches { circumstances: vec![Circumstance::SeenOutside], ..Touches::nothing() },
        }
    }

    names_no_files!();

    /// When and what, and what was read before.
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let arguments: ScheduleTaskArguments = typed(arguments.clone())?;
        match self.0.supervisor()?.ask(call, Ask::PlanSchedule(arguments.into()))? {
            Answer::Schedule { line, outside, .. } => {
                let outside = outside.map(|seen| format!("Its task has read: {seen}.\n")).unwrap_or_default();
                Ok(format!("{outside}Would be set: {line}"))
            }
            other => Err(unexpected(&other)),
        }
    }

    fn run(&self, arguments: ScheduleTaskArguments, call: &Call) -> Outcome<Schedule> {
        match self.0.supervisor()?.ask(call, Ask::CreateSchedule(arguments.into()))? {
            Answer::Schedule { schedule, line, now, .. } => {
                let stdout = format!("{line}It is {now} now.\n");
                Ok(Success { stdout, data: *schedule, ..Success::default() })
            }
            other => Err(unexpected(&other).into()),
        }
    }
}

impl From<ScheduleTaskArguments> for NewSchedule {
    fn from(arguments: ScheduleTaskArguments) -> Self {
        let ScheduleTaskArguments { text, at, every, timezone, until, times } = arguments;
        Self { text, at, every, timezone, until, times }
    }
}
