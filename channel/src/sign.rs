//! Signs of life: what a chat shows while somebody works for it.
//!
//! Nothing depends on a sign. It is in no table of messages and never repeated; the next one replaces it.

use std::time::Duration;

use protocol::{MessageId, TaskId};

use super::content::Button;
use crate::formatting::FormattedText;

/// A sign of life in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// For some seconds, as if a person wrote.
    Typing,
    /// A message that tells how far a task is.
    Progress(Progress),
    /// That message, with what it tells now.
    Update { message_id: MessageId, progress: Progress },
    /// That message goes.
    Remove { message_id: MessageId },
    /// What is being written, which the chat shows until the message comes.
    Draft(Draft),
    /// A message whose sending had no answer is looked for: [`Shown::Yes`] has its number, if it is there.
    Find(Lost),
}

/// What a progress message tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub text: FormattedText,
    /// The button that stops the task; none while it is being stopped.
    pub stop: Option<Button>,
}

/// A text that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its task: the next text of this task takes its place.
    pub task: TaskId,
    pub text: FormattedText,
}

/// A progress message that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Its button, which no other message has.
    pub stop: Button,
    /// The highest number in its chat that was known before it.
    pub after: MessageId,
    /// Other messages of ours.
    pub others: Vec<MessageId>,
}

/// What became of a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// It is seen, as this message if it is a new one.
    Yes { message_id: Option<MessageId> },
    /// Not now; none is wanted before the pause is over.
    Later { pause: Duration },
    /// There was no answer: none is wanted before the pause is over, or the service can be reached.
    Unanswered {
        /// It may be seen all the same.
        may_be_seen: bool,
        pause: Duration,
    },
    /// It cannot be.
    Never,
}

/// How far the task of a message is, as its sender sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Nothing is shown.
    Unseen,
    /// It is stored, and waits or has just begun.
    Seen,
    /// It runs, or waits for a person.
    Working,
    Done,
    /// It failed or was cancelled; the chat reads why.
    Ended,
}
