//! The journal's records: what the tool server appends and the supervisor follows.
//!
//! One JSON object per line. `prev` is the SHA-256 of the line before, without its newline, so a changed,
//! removed or reordered line breaks the chain at a known line. The last line has no successor: the follower
//! keeps its hash, which anchors the end.

use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalRequested, ApprovalUsed};
use crate::event::{
    Event, EventBody, SessionProcessEnded, ToolCallCompleted, ToolCallFailed, ToolCallReplayed,
    ToolCallStarted,
};
use crate::hash::sha256;
use crate::{EventId, SessionId, TaskId};

pub use crate::call_record::{
    BackgroundProcessEnded, CallChange, CallEnded, CallFailure, CallReplayed, CallStarted,
    CreatedControlFile, ProcessState,
};

/// The `prev` of a journal's first record: 64 zeros.
pub const FIRST_PREV: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The most bytes of a result that a record keeps in `output_text`.
pub const OUTPUT_TEXT_BYTES: usize = 2000;

/// The most bytes of arguments, as JSON, that a record holds itself.
pub const ARGUMENTS_BYTES: usize = 64 * 1024;

/// The directory beside the journal with the arguments that are larger.
pub const ARGUMENTS_DIRECTORY: &str = "arguments";

/// The name of a full file that was rotated away: the journal's own name and a number, from 1.
pub fn archive_name(journal: &str, number: u64) -> String {
    format!("{journal}.{number:06}")
}

/// The number of a full file from its name; none for any other file.
pub fn archive_number(journal: &str, file: &str) -> Option<u64> {
    let digits = file.strip_prefix(journal)?.strip_prefix('.')?;
    let number = digits.parse().ok()?;
    (number > 0 && archive_name(journal, number) == file).then_some(number)
}

/// The bits of a place's number that hold the offset, enough for files of four terabytes.
const OFFSET_BITS: u32 = 42;

/// Where a record ends: in which file, and at which offset there. The current file counts under the number
/// that it will get, so a place stays valid when its file is archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalPlace {
    /// The number of the file.
    pub file: u64,
    /// In bytes.
    pub offset: u64,
}

impl JournalPlace {
    /// The place with this number.
    pub fn of(number: u64) -> Self {
        Self { file: number >> OFFSET_BITS, offset: number & ((1 << OFFSET_BITS) - 1) }
    }

    /// One number for it, which grows along the journal.
    pub fn number(self) -> u64 {
        (self.file << OFFSET_BITS) | self.offset
    }
}

/// The header of `GET /journal` with the number of the place where the journal ended when the server that
/// answers was started: no earlier server writes behind it.
pub const OPENED_AT_HEADER: &str = "x-journal-opened-at";

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// What happened, with its `type`.
    #[serde(flatten)]
    pub body: RecordBody,
    /// The record's ID; of a start, the call's ID.
    pub id: EventId,
    /// What the call happened under; of an end, the start's ID.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent_id: Option<EventId>,
    /// The task that the caller named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<TaskId>,
    /// Whose reads and locks the call uses.
    pub session_id: SessionId,
    /// When, in milliseconds since the Unix epoch.
    pub time_ms: i64,
    /// SHA-256 of the line before, in hex; [`FIRST_PREV`] in the first.
    pub prev: String,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum RecordBody {
    /// A call is about to act.
    #[serde(rename = "tool_call.started")]
    Started(CallStarted),
    /// A call succeeded.
    #[serde(rename = "tool_call.completed")]
    Completed(CallEnded),
    /// A call ended with an error.
    #[serde(rename = "tool_call.failed")]
    Failed(CallEnded),
    /// A call was answered by its idempotency key.
    #[serde(rename = "tool_call.replayed")]
    Replayed(CallReplayed),
    /// A background process ended.
    #[serde(rename = "background_process.ended")]
    ProcessEnded(BackgroundProcessEnded),
    /// A call waits for a person.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(ApprovalRequested),
    /// A person approved a call.
    #[serde(rename = "approval.granted")]
    ApprovalGranted(ApprovalGranted),
    /// A person refused a call.
    #[serde(rename = "approval.denied")]
    ApprovalDenied(ApprovalDenied),
    /// No decision, or no call after it, came in time.
    #[serde(rename = "approval.expired")]
    ApprovalExpired(ApprovalExpired),
    /// An approved call is about to run.
    #[serde(rename = "approval.used")]
    ApprovalUsed(ApprovalUsed),
    /// A torn last line was cut away when the journal was opened.
    #[serde(rename = "journal.repaired")]
    Repaired {
        /// How many bytes were cut away.
        cut_bytes: u64,
    },
}

impl JournalRecord {
    /// The hash that the next record carries, for a line without its newline.
    pub fn line_hash(line: &[u8]) -> String {
        sha256(line)
    }

    /// The record as an event, for the event table; none for records about the journal itself.
    pub fn into_event(self) -> Option<Event> {
        let Self { body, id, parent_id, task_id, session_id, time_ms, prev: _ } = self;
        let body: EventBody = match body {
            RecordBody::Started(call) => ToolCallStarted { call, session_id }.into(),
            RecordBody::Completed(call) => ToolCallCompleted { call, session_id }.into(),
            RecordBody::Failed(call) => ToolCallFailed { call, session_id }.into(),
            RecordBody::Replayed(call) => ToolCallReplayed { call, session_id }.into(),
            RecordBody::ProcessEnded(process) => SessionProcessEnded { process, session_id }.into(),
            RecordBody::ApprovalRequested(approval) => approval.into(),
            RecordBody::ApprovalGranted(approval) => approval.into(),
            RecordBody::ApprovalDenied(approval) => approval.into(),
            RecordBody::ApprovalExpired(approval) => approval.into(),
            RecordBody::ApprovalUsed(approval) => approval.into(),
            RecordBody::Repaired { .. } => return None,
        };
        Some(Event { id, parent_id, task_id, body, time_ms })
    }
}

impl From<CallEnded> for RecordBody {
    fn from(call: CallEnded) -> Self {
        if call.failure.is_some() { Self::Failed(call) } else { Self::Completed(call) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorClass, Risk};
    use serde_json::Map;

    fn record(body: impl Into<RecordBody>) -> JournalRecord {
        JournalRecord {
            body: body.into(),
            id: EventId::new(),
            parent_id: None,
            task_id: None,
            session_id: SessionId::default_session(),
            time_ms: 1,
            prev: FIRST_PREV.to_owned(),
        }
    }

    #[test]
    fn every_record_survives_a_round_trip() {
        let ended = CallEnded { tool_name: "ls".into(), latency_ms: 1, ..CallEnded::default() };
        let failure = CallFailure {
            error: "gone".into(),
            error_class: ErrorClass::ToolExec,
            error_code: "NOT_FOUND".into(),
            redacted: false,
            approval_id: None,
        };
        let change = CallChange {
            operation: "update".into(),
            sha256_before: Some("a".into()),
            sha256_after: Some("b".into()),
            can_be_undone: true,
            undone_call_id: Some(EventId::new()),
        };
        let changed = CallEnded { path_resolved: Some("/w/a".into()), change: Some(change), ..ended.clone() };
        let started = CallStarted {
            tool_name: "ls".into(),
            token: Some("ci".into()),
            arguments: Map::new(),
            arguments_sha256: Some("a".into()),
            arguments_file: None,
            risk: Risk::Low,
            request_id: None,
            traceparent: None,
        };
        let replayed = CallReplayed {
            tool_name: "write".into(),
            token: None,
            replayed_call_id: EventId::new(),
            arguments_sha256: "a".into(),
            request_id: None,
            traceparent: None,
        };
        for record in [
            record(RecordBody::Started(started)),
            record(RecordBody::Replayed(replayed)),
            record(ended.clone()),
            record(changed),
            record(CallEnded { failure: Some(failure), ..ended }),
            record(RecordBody::Repaired { cut_bytes: 7 }),
        ] {
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<JournalRecord>(&line).unwrap(), record, "{line}");
        }
    }

    #[test]
    fn only_full_files_are_recognised_by_their_names() {
        for number in [1, 42, 1_000_000] {
            assert_eq!(archive_number("calls.jsonl", &archive_name("calls.jsonl", number)), Some(number));
        }
        for other in [
            "calls.jsonl", "calls.jsonl.1", "calls.jsonl.000000", "calls.jsonl.next", "calls.jsonl.+00001",
            "x",
        ] {
            assert_eq!(archive_number("calls.jsonl", other), None, "{other}");
        }
    }
}
