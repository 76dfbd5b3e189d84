//! Events: the truth about what was done, one row each, never changed.
//!
//! The tree is process → agent → turn → tool call: `parent_id` is the id of the event that something
//! happened under, and a completion's `parent_id` is the id of its start.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EventId, TaskId, now_ms};

macro_rules! event_types {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// What happened: a noun and a verb in the past tense.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum EventType {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl EventType {
            /// All types.
            pub const ALL: &'static [EventType] = &[$(EventType::$variant),+];

            /// The type as it stands on the wire and in the table.
            pub const fn as_str(self) -> &'static str {
                match self { $(EventType::$variant => $name),+ }
            }
        }
    };
}

event_types! {
    /// The supervisor started; the root of everything in this run.
    ProcessStarted = "process.started";
    /// A child process was started.
    WorkerSpawned = "worker.spawned";
    /// A child process ended.
    WorkerExited = "worker.exited";
    /// A child keeps ending before it is ready.
    CrashLoopDetected = "crash_loop.detected";
    /// What ended long ago was taken out of the database.
    DatabasePruned = "database.pruned";
    /// A message was stored as a task.
    TaskQueued = "task.queued";
    /// A task was given to the worker.
    TaskClaimed = "task.claimed";
    /// A task ended with its reply queued.
    TaskDone = "task.done";
    /// A task failed for the last time.
    TaskDead = "task.dead";
    /// A task was cancelled.
    TaskCancelled = "task.cancelled";
    /// A message was stored and deliberately not run.
    TaskSkipped = "task.skipped";
    /// The worker began a task.
    AgentStarted = "agent.started";
    /// The worker ended a task with an answer.
    AgentCompleted = "agent.completed";
    /// The worker ended a task without an answer.
    AgentFailed = "agent.failed";
    /// The messages for the model were put together.
    ContextAssembled = "context.assembled";
    /// A request to the model began.
    TurnStarted = "turn.started";
    /// The model answered, and the tool calls it asked for were run.
    TurnCompleted = "turn.completed";
    /// A tool call began.
    ToolCallStarted = "tool_call.started";
    /// A tool call ended well.
    ToolCallCompleted = "tool_call.completed";
    /// A tool call ended with an error.
    ToolCallFailed = "tool_call.failed";
    /// A tool call began and its end was never seen.
    ToolCallInterrupted = "tool_call.interrupted";
    /// A reply was put into the outbox.
    ReplyQueued = "reply.queued";
    /// A reply was delivered.
    ReplySent = "reply.sent";
    /// A limit ended a task.
    ControlLimitReached = "control.limit_reached";
    /// The model repeats itself without progress.
    ProgressStalled = "progress.stalled";
    /// A failed attempt will be repeated.
    RetryScheduled = "retry.scheduled";
    /// No attempt is left.
    RetryExhausted = "retry.exhausted";
    /// A circuit breaker opened.
    CircuitOpened = "circuit.opened";
    /// A circuit breaker lets one probe through.
    CircuitHalfOpen = "circuit.half_open";
    /// A circuit breaker closed.
    CircuitClosed = "circuit.closed";
}

impl std::fmt::Display for EventType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Made where the event is made.
    pub id: EventId,
    /// What it happened under; for a completion, its start.
    pub parent_id: Option<EventId>,
    /// The task it belongs to, if any.
    pub task_id: Option<TaskId>,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// When, in milliseconds since the Unix epoch, by the clock of the process that made it.
    pub time_ms: i64,
    /// The facts; an object whose fields depend on the type.
    pub payload: Value,
}

impl Event {
    /// An event that happens now.
    pub fn now(
        event_type: EventType,
        parent_id: Option<&EventId>,
        task_id: Option<&TaskId>,
        payload: Value,
    ) -> Self {
        Self {
            id: EventId::new(),
            parent_id: parent_id.cloned(),
            task_id: task_id.cloned(),
            event_type,
            time_ms: now_ms(),
            payload,
        }
    }
}
