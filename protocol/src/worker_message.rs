//! The lines that supervisor and worker send each other, one JSON object a line, tagged by `type`.

use serde::{Deserialize, Serialize};

use crate::{Event, Task, TaskId};

/// From the supervisor to the worker's stdin. End of file tells the worker to exit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    /// Do this. The worker gets one task at a time.
    Task(Box<Task>),
    /// Stop this task, if it is the running one.
    Cancel {
        /// Which task.
        task_id: TaskId,
    },
}

/// From the worker's stdout to the supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorker {
    /// Something happened.
    Event(Event),
    /// The worker lives. The first one says that it is ready for a task.
    Heartbeat {
        /// The running task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
    },
    /// The task ended.
    Result(TaskResult),
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Which task.
    pub task_id: TaskId,
    /// Which attempt at it.
    pub attempt: u32,
    /// With what outcome.
    pub outcome: Outcome,
}

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// There is an answer for the user.
    Done {
        /// What to tell the user.
        reply: String,
    },
    /// The attempt failed.
    Failed {
        /// What was wrong, in a sentence for the user and the log.
        error: String,
        /// Whether another attempt can help.
        retryable: bool,
    },
    /// The task was cancelled while it ran.
    Cancelled {
        /// What had been done, for the user.
        reply: String,
    },
}
