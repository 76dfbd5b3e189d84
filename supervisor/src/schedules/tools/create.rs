//! `schedule_task`: sets a time at which a text becomes a task of this chat.

use jiff::tz::TimeZone;
use protocol::{Annotations, ErrorCode, Origin, Risk, SessionId, ToolError, now_ms};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::{Circumstance, Touches};
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::{InChannel, ScheduleData, line, not_stored};
use crate::channel_tools::sending::wait;
use crate::store::schedules::{self, Schedule};
use crate::store::{inbox, outside};
use crate::timing::{self, TimingError};

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

    fn touches(&self, _: &Value, session: &SessionId) -> Touches {
        let seen = Touches { circumstances: vec![Circumstance::SeenOutside], ..Touches::nothing() };
        // Who has no chat is refused anyway.
        let Ok(chat) = self.0.chat_of(session) else { return Touches::nothing() };
        match wait(self.0.schedules.store.write(move |tx| outside::seen_in(tx, &chat))) {
            Ok(None) => Touches::nothing(),
            Ok(Some(_)) => seen,
            Err(error) => {
                tracing::error!(%error, "could not read what a task has seen");
                seen
            }
        }
    }

    /// When and what, and what was read before.
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let arguments: ScheduleTaskArguments = serde_json::from_value(arguments.clone())
            .map_err(|error| invalid(format!("The arguments do not match the schema: {error}.")))?;
        let Planned { schedule, .. } = self.planned(arguments, call)?;
        let outside = schedule.origin.as_ref().and_then(|origin| origin.outside.clone());
        let outside = outside.map(|seen| format!("Its task has read: {seen}.\n")).unwrap_or_default();
        Ok(format!("{outside}Would be set: {}", line(&schedule)))
    }

    fn run(&self, arguments: ScheduleTaskArguments, call: &Call) -> Outcome<ScheduleData> {
        let schedules = &self.0.schedules;
        let Planned { schedule, zone, named } = self.planned(arguments, call)?;
        let (now, most) = (schedule.created_at_ms, schedules.limits.most_of_chat);
        let (stored, parent, task) = (schedule.clone(), call.id.clone(), call.task.clone());
        let store = schedules.store.write(move |tx| {
            if let Some(name) = &named {
                schedules::remember_timezone(tx, &stored.chat, name)?;
            }
            schedules::create(tx, &stored, most, now, &parent, task.as_ref())
        });
        if !wait(store).map_err(not_stored)? {
            let message = format!("This chat has {most} schedules, which is the most.");
            let error = ToolError::new(ErrorCode::Conflict, message);
            return Err(error.with_hint("End some with `schedule_cancel`.").into());
        }
        schedules.changed.notify_one();
        let stdout = format!("{}It is {} now.\n", line(&schedule), timing::shown(now, &zone));
        Ok(Success { stdout, data: ScheduleData::from(&schedule), ..Success::default() })
    }
}

/// A schedule that is not stored yet.
struct Planned {
    schedule: Schedule,
    zone: TimeZone,
    /// The time zone that the call names, which the chat keeps.
    named: Option<String>,
}

impl ScheduleTask {
    /// What a call asks for, if it may have that.
    fn planned(&self, arguments: ScheduleTaskArguments, call: &Call) -> Result<Planned, ToolError> {
        let (chat, now) = (self.0.chat_of(&call.session)?, now_ms());
        let (of_chat, task) = (chat.clone(), call.task.clone());
        let known = self.0.schedules.store.write(move |tx| {
            let origin = task.map(|task| inbox::origin(tx, &task)).transpose()?.flatten();
            Ok((schedules::timezone(tx, &of_chat)?, origin, outside::seen_in(tx, &of_chat)?))
        });
        let (own_zone, origin, outside) = wait(known).map_err(not_stored)?;
        let named = arguments.timezone.clone();
        let name = named.clone().or(own_zone).unwrap_or_else(|| "UTC".to_owned());
        let zone = timing::zone(&name).map_err(refused)?;
        let (next_at_ms, until_ms) = times(&arguments, &zone, now)?;
        let ScheduleTaskArguments { text, every, times, .. } = arguments;
        if text.trim().is_empty() {
            return Err(invalid("`text` is empty. Give the task of that time."));
        }
        self.require_pause(every.as_deref(), next_at_ms - now, origin.as_ref())?;
        let origin = match outside {
            Some(_) => Some(Origin { outside, ..origin.unwrap_or_default() }),
            None => origin,
        };
        let id = call.id.as_str().to_owned();
        let schedule = Schedule {
            id,
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
        Ok(Planned { schedule, zone, named })
    }

    /// Fails for what would come too often: by its line, or because each time sets the next one.
    fn require_pause(
        &self,
        every: Option<&str>,
        from_now_ms: i64,
        origin: Option<&Origin>,
    ) -> Result<(), ToolError> {
        let limits = self.0.schedules.limits;
        let least = limits.least_minutes;
        let hint = "Ask the operator for more (AUTONOUS_SCHEDULES_MIN_MINUTES).";
        if let Some(every) = every {
            let pause = timing::shortest_pause_minutes(every).map_err(refused)?;
            if pause < least {
                let message =
                    format!("`{every}` comes again after {pause} min; {least} min is the shortest.");
                return Err(invalid(message).with_hint(hint));
            }
        } else if origin.is_some_and(|origin| origin.scheduled.is_some())
            && from_now_ms < limits.least_pause_ms()
        {
            let message = format!("A task that a schedule began sets another one {least} min later or more.");
            return Err(invalid(message).with_hint(hint));
        }
        Ok(())
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
