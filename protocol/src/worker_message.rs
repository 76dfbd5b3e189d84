//! The lines between supervisor and worker: one JSON object per line, tagged by `type`.

use serde::{Deserialize, Serialize};

use crate::{Addition, Event, Parked, Task, TaskId};

/// Sent to the worker's stdin. At the end of the input the worker exits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    /// Do this task. The worker gets one at a time.
    Task(Box<Task>),
    /// Stop this task if it is running.
    Cancel { task_id: TaskId },
    /// Let the model of this task read this before its next turn, if there is one.
    Add { task_id: TaskId, addition: Box<Addition> },
}

/// Sent by the worker on stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most lines are events")]
pub enum FromWorker {
    Event {
        event: Event,
    },
    /// The worker is alive. The first heartbeat means that it is ready for a task.
    Heartbeat {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
        /// In the first one: the model that the worker asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Whether the task waits for a person to approve a call; its time stands still.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits_for_person: bool,
    },
    /// An addition is in the conversation: this message is a part of the task.
    Added {
        task_id: TaskId,
        message: TaskId,
    },
    /// What the model has written so far of the reply that it writes, or of the one before while it writes
    /// none: at most [`crate::MAX_WORDS_BYTES`], and stored nowhere.
    Words {
        task_id: TaskId,
        text: String,
    },
    Result(TaskResult),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    pub task_id: TaskId,
    pub attempt: u32,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    Done {
        reply: String,
        #[serde(default)]
        format: ReplyFormat,
    },
    Failed {
        /// What went wrong, in a sentence for the log, and for the user if `told` is absent.
        error: String,
        /// The same for the user, in the language of the chat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<String>,
        /// Whether another attempt can help.
        retryable: bool,
        /// How long to wait before another attempt, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The task was cancelled while it ran.
    Cancelled {
        /// What was done until then, for the user.
        reply: String,
    },
    /// Calls wait for a person; another attempt continues with them.
    Parked(Box<Parked>),
}

/// How a reply is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyFormat {
    /// By a model.
    #[default]
    Markdown,
    /// By a program: shown character by character.
    Plain,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventId;
    use crate::event::TaskClaimed;
    use crate::{CallState, ParkedCall, Spent};

    fn parked() -> Outcome {
        let waits = CallState::Waits { approval_id: EventId::new(), expires_at_ms: 1, key: "key".to_owned() };
        let not_begun = CallState::NotBegun { key: Some("other".to_owned()) };
        let states = [CallState::Answered { result: "1".into() }, waits, CallState::Expired, not_begun];
        let call = |state| ParkedCall {
            id: "1".to_owned(),
            tool_name: "write".to_owned(),
            arguments: "{".to_owned(),
            state,
        };
        let calls = states.map(call).to_vec();
        let spent = Spent { turns: 1, wall_ms: 2, ..Spent::default() };
        let reasoning = Some(serde_json::json!({"a": [1]}));
        let conversation = Some(serde_json::json!({"messages": []}));
        Outcome::Parked(Box::new(Parked { conversation, text: "so".to_owned(), reasoning, calls, spent }))
    }

    #[test]
    fn every_message_of_the_worker_survives_a_round_trip() {
        let task_id = TaskId::new();
        let event = Event::now(TaskClaimed { attempt: 1, node: None }, None, Some(&task_id));
        let outcome =
            Outcome::Failed { error: "no".into(), told: None, retryable: true, retry_after_ms: Some(1) };
        for message in [
            FromWorker::Event { event },
            FromWorker::Heartbeat { task_id: None, model: Some("m".to_owned()), waits_for_person: false },
            FromWorker::Heartbeat { task_id: Some(task_id.clone()), model: None, waits_for_person: true },
            FromWorker::Added { task_id: task_id.clone(), message: TaskId::new() },
            FromWorker::Words { task_id: task_id.clone(), text: "so f".to_owned() },
            FromWorker::Result(TaskResult { task_id: task_id.clone(), attempt: 1, outcome }),
            FromWorker::Result(TaskResult { task_id, attempt: 1, outcome: parked() }),
        ] {
            let line = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<FromWorker>(&line).unwrap(), message, "{line}");
        }
    }
}
