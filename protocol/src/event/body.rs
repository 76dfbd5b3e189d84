//! The list of event types, and how an event becomes `type` and `payload` and back.
//!
//! An event that this version does not fully know is kept as it came: one of an unknown type, one whose
//! payload does not parse, and one whose payload has a field that its struct lacks. So nothing is lost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The payload of one type of event.
pub trait EventPayload: Sized {
    /// The type on the wire and in the table: a noun and a verb in the past tense.
    const TYPE: &'static str;

    /// The payload of an event of this type; none of any other.
    fn of(body: &EventBody) -> Option<&Self>;
}

macro_rules! event_types {
    ($($payload:ident = $name:literal,)+) => {
        /// What happened, with its facts.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(from = "TypeAndPayload", into = "TypeAndPayload")]
        pub enum EventBody {
            $(#[doc = concat!("`", $name, "`")] $payload(super::$payload),)+
            /// An event that this version does not fully know.
            Unknown {
                /// The type as it came.
                event_type: String,
                /// The payload as it came.
                payload: Value,
            },
        }

        /// All types of events.
        pub const TYPES: &[&str] = &[$($name),+];

        impl EventBody {
            /// The type on the wire and in the table.
            pub fn event_type(&self) -> &str {
                match self {
                    $(Self::$payload(_) => $name,)+
                    Self::Unknown { event_type, .. } => event_type,
                }
            }

            /// The payload as JSON.
            pub fn payload(&self) -> Value {
                match self {
                    $(Self::$payload(payload) => serde_json::to_value(payload).unwrap_or_default(),)+
                    Self::Unknown { payload, .. } => payload.clone(),
                }
            }

            fn known(event_type: &str, payload: &Value) -> Option<Self> {
                match event_type {
                    $($name => super::$payload::deserialize(payload).ok().map(Self::$payload),)+
                    _ => None,
                }
            }
        }

        $(
            impl EventPayload for super::$payload {
                const TYPE: &'static str = $name;

                fn of(body: &EventBody) -> Option<&Self> {
                    if let EventBody::$payload(payload) = body { Some(payload) } else { None }
                }
            }

            impl From<super::$payload> for EventBody {
                fn from(payload: super::$payload) -> Self {
                    Self::$payload(payload)
                }
            }
        )+
    };
}

event_types! {
    ProcessStarted = "process.started",
    WorkerSpawned = "worker.spawned",
    WorkerExited = "worker.exited",
    CrashLoopDetected = "crash_loop.detected",
    DatabasePruned = "database.pruned",
    JournalTampered = "journal.tampered",
    JournalAccepted = "journal.accepted",
    TaskQueued = "task.queued",
    TaskEdited = "task.edited",
    TaskAdded = "task.added",
    TaskClaimed = "task.claimed",
    TaskParked = "task.parked",
    TaskDone = "task.done",
    TaskDead = "task.dead",
    TaskCancelled = "task.cancelled",
    TaskSkipped = "task.skipped",
    ScheduleCreated = "schedule.created",
    ScheduleCancelled = "schedule.cancelled",
    ScheduleDue = "schedule.due",
    ScheduleMissed = "schedule.missed",
    AgentStarted = "agent.started",
    AgentCompleted = "agent.completed",
    AgentFailed = "agent.failed",
    ContextAssembled = "context.assembled",
    TurnStarted = "turn.started",
    TurnCompleted = "turn.completed",
    ModelRequestCompleted = "model_request.completed",
    PlanCreated = "plan.created",
    PlanUpdated = "plan.updated",
    ToolCallStarted = "tool_call.started",
    ToolCallCompleted = "tool_call.completed",
    ToolCallFailed = "tool_call.failed",
    ToolCallReplayed = "tool_call.replayed",
    ToolCallInterrupted = "tool_call.interrupted",
    SessionProcessEnded = "background_process.ended",
    ApprovalRequested = "approval.requested",
    ApprovalGranted = "approval.granted",
    ApprovalDenied = "approval.denied",
    ApprovalExpired = "approval.expired",
    ApprovalUsed = "approval.used",
    ReplyQueued = "reply.queued",
    ReplySent = "reply.sent",
    ReplyRequeued = "reply.requeued",
    ChatMoved = "chat.moved",
    ChatPlaced = "chat.placed",
    LeaderElected = "leader.elected",
    NodeGone = "node.gone",
    ChatPaired = "chat.paired",
    ChatUnpaired = "chat.unpaired",
    ControlLimitReached = "control.limit_reached",
    ProgressStalled = "progress.stalled",
    QuotaExhausted = "quota.exhausted",
    RetryScheduled = "retry.scheduled",
    RetryExhausted = "retry.exhausted",
    CircuitOpened = "circuit.opened",
    CircuitHalfOpen = "circuit.half_open",
    CircuitClosed = "circuit.closed",
}

impl EventBody {
    /// A body from its type and payload.
    pub fn new(event_type: String, payload: Value) -> Self {
        match Self::known(&event_type, &payload) {
            Some(body) if has_all_of(&body.payload(), &payload) => body,
            _ => Self::Unknown { event_type, payload },
        }
    }
}

/// Whether every given field survived. A field that is null counts as absent.
fn has_all_of(known: &Value, given: &Value) -> bool {
    let Some(given) = given.as_object() else { return false };
    given.iter().all(|(name, value)| value.is_null() || known.get(name) == Some(value))
}

/// An event's body on the wire.
#[derive(Serialize, Deserialize)]
struct TypeAndPayload {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    payload: Value,
}

impl From<TypeAndPayload> for EventBody {
    fn from(wire: TypeAndPayload) -> Self {
        Self::new(wire.event_type, wire.payload)
    }
}

impl From<EventBody> for TypeAndPayload {
    fn from(body: EventBody) -> Self {
        Self { event_type: body.event_type().to_owned(), payload: body.payload() }
    }
}
