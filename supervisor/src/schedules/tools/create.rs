//! `schedule_task`: sets a time at which a text becomes a task of this chat.

use jiff::tz::TimeZone;
use protocol::{Annotations, ErrorCode, Risk, ToolError, now_ms};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{InChannel, ScheduleData, line, not_stored};
use crate::channel_tools::sending::wait;
use crate::store::inbox;
use crate::store::schedules::{self, Schedule};
use crate::timing::{self, TimingError};

/// The most schedules of a chat.
const MOST_OF_CHAT: u32 = 100;

/// Sets a reminder or repeated task: when it is due, `text` comes to you in this chat as a new message.
///
/// Give `at` for one time, or `every` for repetition. Needs the user's time zone; ask if you do not know it.
///
/// # Details
///
/// A time that a clock change skips means the time after the gap. What was due while the bot was off is done
/// once, at most a day late; what is later is not done, and the chat is told.
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

pub(super) struct ScheduleTask(pub(super) InChannel);

impl Tool for ScheduleTask {
    type Arguments = ScheduleTaskArguments;
    type Data = ScheduleData;
    const NAME: &'static str = "schedule_task";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations { destructive: false, ..Annotations::ACTS };
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"text": "Remind Ada to call Anna.", "every": "0 9 * * 1-5", "timezone": "Europe/Berlin"})
    }

    fn run(&self, arguments: ScheduleTaskArguments, call: &Call) -> Outcome<ScheduleData> {
        let InChannel { schedules, .. } = &self.0;
        let (chat, now) = (self.0.chat(call)?, now_ms());
        let (of_chat, task) = (chat.clone(), call.task.clone());
        let known = schedules.store.write(move |tx| {
            let origin = task.map(|task| inbox::origin(tx, &task)).transpose()?.flatten();
            Ok((schedules::timezone(tx, &of_chat)?, origin))
        });
        let (own_zone, origin) = wait(known).map_err(not_stored)?;
        let named = arguments.timezone.clone();
        let name = named.clone().or(own_zone).unwrap_or_else(|| "UTC".to_owned());
        let zone = timing::zone(&name).map_err(refused)?;
        let (next_at_ms, until_ms) = times(&arguments, &zone, now)?;
        let ScheduleTaskArguments { text, every, times, .. } = arguments;
        if text.trim().is_empty() {
            return Err(invalid("`text` is empty. Say what is to be done then.").into());
        }
        let schedule = Schedule {
            id: call.id.as_str().to_owned(),
            chat,
            text,
            every,
            timezone: name,
            until_ms,
            times_left: times,
            next_at_ms,
            origin,
            created_at_ms: now,
        };
        let (stored, parent, task) = (schedule.clone(), call.id.clone(), call.task.clone());
        let store = schedules.store.write(move |tx| {
            if let Some(name) = &named {
                schedules::remember_timezone(tx, &stored.chat, name)?;
            }
            schedules::create(tx, &stored, MOST_OF_CHAT, now, &parent, task.as_ref())
        });
        if !wait(store).map_err(not_stored)? {
            let message = format!("This chat has {MOST_OF_CHAT} schedules, which is the most.");
            let error = ToolError::new(ErrorCode::Conflict, message);
            return Err(error.with_hint("End some with `schedule_cancel`.").into());
        }
        schedules.changed.notify_one();
        let stdout = format!("{}It is {} now.\n", line(&schedule), timing::shown(now, &zone));
        Ok(Success { stdout, data: ScheduleData::from(&schedule), ..Success::default() })
    }
}

/// The first time and the end of a schedule, in milliseconds since the epoch.
fn times(
    arguments: &ScheduleTaskArguments,
    zone: &TimeZone,
    now: i64,
) -> Result<(i64, Option<i64>), ToolError> {
    let is = || format!("It is {} now.", timing::rfc3339(now, zone));
    let until = match (&arguments.until, &arguments.every) {
        (Some(until), Some(_)) => Some(timing::instant(until, zone).map_err(refused)?.as_millisecond()),
        (None, _) => None,
        (Some(_), None) => return Err(invalid("`until` goes with `every` only.")),
    };
    let next = match (&arguments.at, &arguments.every) {
        (Some(_), None) if arguments.times.is_some() => {
            return Err(invalid("`times` goes with `every` only."));
        }
        (Some(at), None) => timing::instant(at, zone),
        (None, Some(every)) => timing::next(every, zone, timing::from_ms(now)),
        (Some(_), Some(_)) => return Err(invalid("Give `at` or `every`, not both.")),
        (None, None) => {
            return Err(invalid("Give `at` for one time, or `every` for repetition.").with_hint(is()));
        }
    };
    let next = next.map_err(|error| refused(error).with_hint(is()))?.as_millisecond();
    if next <= now {
        return Err(invalid("`at` is in the past.").with_hint(is()));
    }
    if until.is_some_and(|until| until < next) {
        return Err(invalid("`until` is before the first time.").with_hint(is()));
    }
    Ok((next, until))
}

fn refused(error: TimingError) -> ToolError {
    invalid(error.to_string())
}
