//! What crosses a process border, and nothing else.
//!
//! One process writes each of these types and another reads it: the envelope of a tool call, the task that
//! the supervisor gives to the worker, the events that come back, the journal records that the supervisor
//! follows. This crate does no I/O and knows no process: it has types and pure functions over them.

#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
pub mod approval;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
mod call_record;
mod data;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
pub mod effect;
pub mod envelope;
pub mod error;
pub mod event;
pub mod hash;
pub mod ids;
pub mod journal;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
pub mod parked;
mod plan;
pub mod question;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
pub mod task;
pub mod text_form;
mod tool_spec;
pub mod visible;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
pub mod worker_message;

pub use data::Data;
pub use envelope::{Context, Envelope, FullOutput, Meta, Stats, Status};
pub use error::{ErrorClass, ErrorCode, ToolError};
pub use event::{Event, EventBody};
pub use ids::{EventId, MessageId, PersonId, SessionId, TaskId};
pub use journal::{JournalPlace, JournalRecord};
pub use parked::{CallState, Parked, ParkedCall, Spent};
pub use plan::{Plan, PlanStep, StepStatus};
pub use task::{
    Addition, EarlierAttempts, HistoryMessage, Origin, Overheard, PassedOn, PastCall, PastCallStatus, Quota,
    Role, Sender, Task,
};
pub use tool_spec::{Annotations, Risk, ToolSpec};
pub use worker_message::{FromWorker, Outcome, ReplyFormat, TaskResult, ToWorker};

/// The longest line between supervisor and worker, in bytes with the newline.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The most bytes of a reply that are shown while it is written.
pub const MAX_WORDS_BYTES: usize = 64 * 1024;

/// A duration in whole milliseconds, for the wire.
pub fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Now, in milliseconds since the Unix epoch, as in every `time_ms`.
pub fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
