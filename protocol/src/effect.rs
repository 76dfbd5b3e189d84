//! What the tool server asks of the supervisor for a call: questions that change nothing, and effects, which
//! add to the supervisor's tables.
//!
//! Each request has a stream of its own, which the tool server passes over the socket that it inherited: one
//! line of JSON there, one line back. Files go beside the stream as open descriptors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EventId, MessageId, SessionId, TaskId, ToolError};

/// The longest line, in bytes with the newline.
pub const MAX_LINE_BYTES: usize = 256 * 1024;

/// The largest file that is sent: what Telegram takes of a bot
/// (<https://core.telegram.org/bots/api#senddocument>).
pub const MAX_FILE_BYTES: u64 = 50_000_000;

/// The most files of one call: what Telegram shows as one album
/// (<https://core.telegram.org/bots/api#sendmediagroup>).
pub const MAX_FILES: usize = 10;

/// The most bytes of all files of one call: an album of the largest photos.
pub const MAX_FILES_BYTES: u64 = 100_000_000;

/// A request for a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectRequest {
    /// The call. An effect of it is made once, however often it is asked for.
    pub call: EventId,
    pub session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub ask: Ask,
}

/// What is asked. A chat is named by its address, such as `telegram:4711`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Question: would a message to this chat be accepted? [`Answer::Done`], or the error.
    MayWrite { chat: String },
    /// Question: has the session written to this contact before, at this address? [`Answer::Yes`].
    HasMet { contact_id: String, chat: String },
    /// Question: has the session's running task read from outside? [`Answer::Yes`].
    HasSeenOutside,
    /// Question: a text in Markdown without its signs. [`Answer::Text`].
    PlainText { markdown: String },
    /// Question: what would be scheduled? [`Answer::Schedule`].
    PlanSchedule(NewSchedule),
    /// Question: the chat's schedules. [`Answer::Schedules`].
    ListSchedules,
    /// Effect: a reaction. [`Answer::Queued`].
    React {
        chat: String,
        /// The message; the one that the call's task is about if none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        emoji: String,
        is_big: bool,
    },
    /// Effect: the files that come with the request, 1 to [`MAX_FILES`], in this order. [`Answer::Queued`].
    SendFiles {
        chat: String,
        /// In Markdown, below the first.
        caption: String,
        files: Vec<OutgoingFile>,
    },
    /// Effect: a text to a contact. [`Answer::Queued`].
    WriteToContact { contact_id: String, chat: String, text: String },
    /// Effect: a schedule of the session's chat. [`Answer::Schedule`].
    CreateSchedule(NewSchedule),
    /// Effect: the end of a schedule of the session's chat. [`Answer::Schedule`].
    CancelSchedule { schedule_id: String },
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutgoingFile {
    pub form: FileForm,
    pub name: String,
    pub size_bytes: u64,
    pub sha256: String,
}

/// How the chat sees a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileForm {
    Document,
    /// A picture that is shown.
    Photo,
    /// MPEG-4.
    Video,
    /// MP3 or M4A.
    Audio,
    /// OGG with Opus.
    Voice,
}

/// The arguments of `schedule_task`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSchedule {
    pub text: String,
    pub at: Option<String>,
    pub every: Option<String>,
    pub timezone: Option<String>,
    pub until: Option<String>,
    pub times: Option<u32>,
}

/// The line back.
pub type EffectAnswer = Result<Answer, ToolError>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    Done,
    Yes {
        yes: bool,
    },
    Text {
        text: String,
    },
    Queued {
        /// The number of the first row in the outbox.
        outbox_id: i64,
        /// The message that a reaction is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    Schedule {
        schedule: Box<Schedule>,
        /// The schedule in one line.
        line: String,
        /// Now, in the schedule's time zone.
        now: String,
        /// What its task has read from outside, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outside: Option<String>,
    },
    Schedules {
        /// The next one first.
        schedules: Vec<Schedule>,
        /// Each in one line.
        lines: Vec<String>,
        /// Now, in UTC.
        now: String,
    },
}

/// A schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Its ID.
    pub schedule_id: String,
    /// When it is due next, in RFC 3339.
    pub next_at: String,
    /// The task's text.
    pub text: String,
    /// A line of cron; absent for one time only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// The IANA name of its time zone.
    pub timezone: String,
    /// How often it still comes; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_left: Option<u32>,
    /// When it ends, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn lines_are_what_they_were_and_nothing_else_is_taken() {
        let request = EffectRequest {
            call: EventId::new(),
            session: "telegram:4711".parse().unwrap(),
            task: None,
            ask: Ask::CancelSchedule { schedule_id: "120".to_owned() },
        };
        let line = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<EffectRequest>(&line).unwrap(), request);
        let refused: EffectAnswer = Err(ToolError::new(ErrorCode::ToolNotAllowed, "No."));
        let line_back = serde_json::to_string(&refused).unwrap();
        assert_eq!(serde_json::from_str::<EffectAnswer>(&line_back).unwrap(), refused);
        for bad in [&line[..line.len() - 1], &line.replace("\"ask\"", "\"more\":1,\"ask\""), "{}", "[]"] {
            assert!(serde_json::from_str::<EffectRequest>(bad).is_err(), "{bad}");
        }
    }
}
