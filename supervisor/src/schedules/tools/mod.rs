//! The tools with which a model sets, lists and ends the schedules of its chat.

mod cancel;
mod create;
mod list;

use jiff::tz::TimeZone;
use protocol::{ErrorCode, SessionId, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::arguments::invalid;
use toolkit::{Call, Registry, RegistryError};

use super::{Schedules, refusal};
use crate::channel::{ChannelName, Chat, Rejection};
use crate::store::StoreError;
use crate::store::schedules::Schedule;
use crate::timing;

/// Adds them to the tools of a channel.
pub(crate) fn add_to(
    registry: Registry,
    schedules: &Schedules,
    channel: ChannelName,
) -> Result<Registry, RegistryError> {
    let schedules = || InChannel { schedules: schedules.clone(), channel: channel.clone() };
    registry
        .with(create::ScheduleTask(schedules()))?
        .with(list::ScheduleList(schedules()))?
        .with(cancel::ScheduleCancel(schedules()))
}

/// The schedules of a channel's chats.
struct InChannel {
    schedules: Schedules,
    channel: ChannelName,
}

impl InChannel {
    /// The chat of the call's session, if the bot works for it.
    fn chat(&self, call: &Call) -> Result<Chat, ToolError> {
        self.chat_of(&call.session)
    }

    fn chat_of(&self, session: &SessionId) -> Result<Chat, ToolError> {
        let session = session.as_str();
        let id = session.strip_prefix(self.channel.as_str()).and_then(|rest| rest.strip_prefix(':'));
        let Some(id) = id else { return Err(invalid(format!("The session {session} is no chat."))) };
        let chat = Chat::new(self.channel.clone(), id);
        match refusal(&self.schedules.channels, &chat) {
            None => Ok(chat),
            Some(Rejection::ChatNotAllowed { hint } | Rejection::Off { hint }) => {
                let message = "The bot does not work for this chat.";
                Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint))
            }
            Some(Rejection::Invalid(message)) => Err(invalid(message)),
        }
    }
}

/// A schedule.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct ScheduleData {
    /// Its ID.
    schedule_id: String,
    /// When it is due next, in RFC 3339.
    next_at: String,
    /// The task's text.
    text: String,
    /// A line of cron; absent for one time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<String>,
    /// The IANA name of its time zone.
    timezone: String,
    /// How often it still comes; absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_left: Option<u32>,
    /// When it ends, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

impl From<&Schedule> for ScheduleData {
    fn from(schedule: &Schedule) -> Self {
        let zone = zone_of(schedule);
        Self {
            schedule_id: schedule.id.clone(),
            next_at: timing::rfc3339(schedule.next_at_ms, &zone),
            text: schedule.text.clone(),
            every: schedule.every.clone(),
            timezone: schedule.timezone.clone(),
            times_left: schedule.times_left,
            until: schedule.until_ms.map(|until| timing::rfc3339(until, &zone)),
        }
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

fn not_stored(error: StoreError) -> ToolError {
    tracing::error!(%error, "could not change the schedules");
    let message = "The schedules could not be read or changed; nothing was changed.";
    ToolError::new(ErrorCode::IoError, message).with_hint("Ask the operator to look at the supervisor's log.")
}
