//! Answers the requests of a worker: calls of the supervisor's own tools for the task that it runs.

use std::time::Duration;

use protocol::{ErrorCode, ToWorker, ToolError, ToolRequest};
use toolkit::Request;
use toolkit::runner::refusal;

use super::Dispatcher;
use super::state::DispatchState;
use crate::children::link::LinkSender;

impl Dispatcher {
    /// Runs the call beside everything else. A call whose attempt ends meanwhile does not wait for a person
    /// any more; one that has begun runs to its own end, and the next attempt learns how it ended.
    pub(super) fn answer(&self, state: &DispatchState, request: ToolRequest, replies: LinkSender) {
        let running = state.running.as_ref().filter(|running| running.task.id == request.task_id);
        let call = running.map(|running| Request {
            session: running.task.chat.session(),
            task: Some(request.task_id),
            parent: Some(request.parent_event_id),
            wait: Duration::from_secs(request.wait_seconds),
            ..Request::new(request.tool.as_str(), request.arguments)
        });
        let over = running.map(|running| running.attempt.end()).unwrap_or_default();
        let tools = self.task_template.channel_tools.clone();
        tokio::spawn(async move {
            let envelope = match call {
                Some(call) => tokio::select! {
                    envelope = tools.call(call) => envelope,
                    () = over.cancelled() => return,
                },
                None => {
                    let error = ToolError::new(ErrorCode::Cancelled, "The task of this call does not run.");
                    refusal(&request.tool, error)
                }
            };
            let reply = ToWorker::Reply { id: request.id, envelope: Box::new(envelope) };
            if let Err(error) = replies.send(&reply).await {
                tracing::warn!(%error, tool = request.tool, "could not answer a request of a worker");
            }
        });
    }
}
