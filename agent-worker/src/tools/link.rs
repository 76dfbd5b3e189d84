//! What a tool asks of its task.

use protocol::{ErrorCode, EventBody, EventId, ToolError};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use toolkit::Call;

use crate::model::{Message, Reply, ReplySchema};

/// What a tool wants done.
pub(crate) enum Wish {
    /// An event, with its ID and parent.
    Record { id: EventId, parent: Option<EventId>, body: Box<EventBody> },
    /// A file as it is; none if there is none.
    Read { path: String, call_id: EventId, answer: oneshot::Sender<Result<Option<Vec<u8>>, ToolError>> },
    /// A change of files, as the tool server takes it.
    Change { body: Value, call_id: EventId, answer: oneshot::Sender<Result<(), ToolError>> },
    /// An answer of the model.
    Ask { prompt: Prompt, answer: oneshot::Sender<Result<Reply, ToolError>> },
}

/// What the model is asked.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The tool that asks.
    pub(crate) purpose: &'static str,
    /// The call that asks.
    pub(crate) call_id: EventId,
    /// Another configured model, by its name.
    pub(crate) model: Option<String>,
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: ReplySchema,
}

/// A tool's way to its task.
#[derive(Debug, Clone)]
pub(super) struct TaskLink(mpsc::UnboundedSender<Wish>);

impl TaskLink {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Wish>) {
        let (wishes, receiver) = mpsc::unbounded_channel();
        (Self(wishes), receiver)
    }

    /// A link to no task, for what is known of tools without any.
    pub(super) fn dead() -> Self {
        Self::new().0
    }

    /// Records an event; false if there is no task any more.
    pub(super) fn record(&self, id: EventId, parent: Option<EventId>, body: EventBody) -> bool {
        self.0.send(Wish::Record { id, parent, body: Box::new(body) }).is_ok()
    }

    /// Asks the model and waits for its answer. Only for threads that may block.
    pub(super) fn ask(&self, call: &Call, prompt: Prompt) -> Result<Reply, ToolError> {
        self.wait(call, |answer| Wish::Ask { prompt, answer })
    }

    /// Reads a file at the tool server, without redaction. Only for threads that may block.
    pub(super) fn read_file(&self, call: &Call, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
        let (path, call_id) = (path.to_owned(), call.id.clone());
        self.wait(call, |answer| Wish::Read { path, call_id, answer })
    }

    /// Changes files at the tool server, all or none. Only for threads that may block.
    pub(super) fn change_files(&self, call: &Call, body: Value) -> Result<(), ToolError> {
        let call_id = call.id.clone();
        self.wait(call, |answer| Wish::Change { body, call_id, answer })
    }

    fn wait<T>(
        &self,
        call: &Call,
        wish: impl FnOnce(oneshot::Sender<Result<T, ToolError>>) -> Wish,
    ) -> Result<T, ToolError> {
        call.check()?;
        let (answer, answered) = oneshot::channel();
        let gone = || ToolError::new(ErrorCode::Cancelled, "The task ended before its tool was answered.");
        self.0.send(wish(answer)).map_err(|_| gone())?;
        answered.blocking_recv().map_err(|_| gone())?
    }
}
