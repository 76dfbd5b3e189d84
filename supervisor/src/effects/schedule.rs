//! The effects on schedules of a chat: what a call asks for is planned, and then stored or ended.

use channel::{Chat, Rejection};
use jiff::tz::TimeZone;
use protocol::effect::{self, Answer, EffectAnswer, EffectRequest, NewSchedule};
use protocol::{ErrorCode, Origin, ToolError, now_ms};
use store::schedules::{self, Schedule};
use store::sql::Connection;
use store::timing::{self, TimingError};
use store::{inbox, outside};
use toolkit::arguments::invalid;

use super::{Effects, not_read};
use crate::schedules::refusal;

impl Effects {
    pub(super) async fn list_schedules(&self, chat: Chat) -> EffectAnswer {
        self.require_works_for(&chat)?;
        let found = self.store.write(move |tx| schedules::of_chat(tx, &chat)).await.map_err(not_read)?;
        Ok(Answer::Schedules {
            schedules: found.iter().map(shown).collect(),
            lines: found.iter().map(line).collect(),
            now: timing::shown(now_ms(), &TimeZone::UTC),
        })
    }

    /// When and what, and what was read before.
    pub(super) async fn plan_schedule(
        &self,
        request: &EffectRequest,
        chat: Chat,
        new: NewSchedule,
    ) -> EffectAnswer {
        Ok(answer(&self.planned(request, chat, new).await?.schedule))
    }

    pub(super) async fn create_schedule(
        &self,
        request: &EffectRequest,
        chat: Chat,
        new: NewSchedule,
    ) -> EffectAnswer {
        if let Some(answer) = self.admit(request, &chat, &chat).await? {
            return Ok(answer);
        }
        let planned = self.planned(request, chat.clone(), new).await?;
        let (most, parent, task) =
            (self.schedules.limits.most_of_chat, request.call.clone(), request.task.clone());
        let create = move |tx: &Connection| {
            let (schedule, now) = (&planned.schedule, planned.schedule.created_at_ms);
            if let Some(name) = &planned.named {
                schedules::remember_timezone(tx, &schedule.chat, name)?;
            }
            let is_stored = schedules::create(tx, schedule, most, now, &parent, task.as_ref())?;
            Ok(if is_stored { Ok(answer(schedule)) } else { Err(full(most)) })
        };
        let created = self.add(request, chat.clone(), chat, create).await;
        self.schedules.changed.notify_one();
        created
    }

    pub(super) async fn cancel_schedule(
        &self,
        request: &EffectRequest,
        chat: Chat,
        id: String,
    ) -> EffectAnswer {
        self.require_works_for(&chat)?;
        if let Some(answer) = self.admit(request, &chat, &chat).await? {
            return Ok(answer);
        }
        let (by, parent, task) = (request.session.to_string(), request.call.clone(), request.task.clone());
        let of_chat = chat.clone();
        let cancel = move |tx: &Connection| {
            let ended = schedules::cancel(tx, &of_chat, &id, &by, &parent, task.as_ref())?;
            Ok(ended.as_ref().map(answer).ok_or_else(|| unknown(&id)))
        };
        self.add(request, chat.clone(), chat, cancel).await
    }

    /// Passes if the bot works for the chat.
    fn require_works_for(&self, chat: &Chat) -> Result<(), ToolError> {
        match refusal(&self.channels, chat) {
            None => Ok(()),
            Some(Rejection::ChatNotAllowed { hint } | Rejection::Off { hint }) => {
                let message = "The bot does not work for this chat.";
                Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint))
            }
            Some(Rejection::Invalid(message)) => Err(invalid(message)),
        }
    }
}

fn full(most: u32) -> ToolError {
    let message = format!("This chat has {most} schedules, which is the most.");
    ToolError::new(ErrorCode::Conflict, message).with_hint("End some with `schedule_cancel`.")
}

fn unknown(id: &str) -> ToolError {
    let message = format!("`{id}` is not the ID of one schedule of this chat.");
    ToolError::new(ErrorCode::NotFound, message).with_hint("Call `schedule_list` for the IDs.")
}

fn answer(schedule: &Schedule) -> Answer {
    Answer::Schedule {
        schedule: Box::new(shown(schedule)),
        line: line(schedule),
        now: timing::shown(now_ms(), &zone_of(schedule)),
        outside: schedule.origin.as_ref().and_then(|origin| origin.outside.clone()),
    }
}

fn shown(schedule: &Schedule) -> effect::Schedule {
    let zone = zone_of(schedule);
    effect::Schedule {
        schedule_id: schedule.id.clone(),
        next_at: timing::rfc3339(schedule.next_at_ms, &zone),
        text: schedule.text.clone(),
        every: schedule.every.clone(),
        timezone: schedule.timezone.clone(),
        times_left: schedule.times_left,
        until: schedule.until_ms.map(|until| timing::rfc3339(until, &zone)),
    }
}

/// Checked when it was stored.
fn zone_of(schedule: &Schedule) -> TimeZone {
    timing::zone(&schedule.timezone).unwrap_or(TimeZone::UTC)
}

/// A schedule in one line.
fn line(schedule: &Schedule) -> String {
    let every = schedule.every.as_ref().map(|every| format!(", every `{every}`")).unwrap_or_default();
    let times = schedule.times_left.map(|times| format!(", {times} times")).unwrap_or_default();
    let next_at = timing::shown(schedule.next_at_ms, &zone_of(schedule));
    let text = schedule.text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}  {next_at}{every}{times}: {text}\n", schedule.id)
}

/// A schedule that is not stored yet.
struct Planned {
    schedule: Schedule,
    /// The time zone that the call names, which the chat keeps.
    named: Option<String>,
}

impl Effects {
    /// What a call asks for, if it may have that.
    async fn planned(
        &self,
        request: &EffectRequest,
        chat: Chat,
        arguments: NewSchedule,
    ) -> Result<Planned, ToolError> {
        self.require_works_for(&chat)?;
        let (of_chat, task, now) = (chat.clone(), request.task.clone(), now_ms());
        let known = self.store.write(move |tx| {
            let origin = task.map(|task| inbox::origin(tx, &task)).transpose()?.flatten();
            Ok((schedules::timezone(tx, &of_chat)?, origin, outside::seen_in(tx, &of_chat)?))
        });
        let (own_zone, origin, outside) = known.await.map_err(not_read)?;
        let named = arguments.timezone.clone();
        let name = named.clone().or(own_zone).unwrap_or_else(|| "UTC".to_owned());
        let zone = timing::zone(&name).map_err(refused)?;
        let (next_at_ms, until_ms) = times(&arguments, &zone, now)?;
        let NewSchedule { text, every, times, .. } = arguments;
        if text.trim().is_empty() {
            return Err(invalid("`text` is empty. Give the task of that time."));
        }
        self.require_pause(every.as_deref(), next_at_ms - now, origin.as_ref())?;
        let origin = match outside {
            Some(_) => Some(Origin { outside, ..origin.unwrap_or_default() }),
            None => origin,
        };
        let schedule = Schedule {
            id: request.call.as_str().to_owned(),
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
        Ok(Planned { schedule, named })
    }

    /// Fails for what would come too often: by its line, or because each time sets the next one.
    fn require_pause(
        &self,
        every: Option<&str>,
        from_now_ms: i64,
        origin: Option<&Origin>,
    ) -> Result<(), ToolError> {
        let limits = self.schedules.limits;
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
fn times(arguments: &NewSchedule, zone: &TimeZone, now: i64) -> Result<(i64, Option<i64>), ToolError> {
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
