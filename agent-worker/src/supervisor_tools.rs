//! Calls of the supervisor's own tools: a request line goes out, a reply line comes in.
//!
//! Nothing is repeated: whichever of the two dies, the pipe between them ends, and the attempt with it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{Envelope, EventId, FromWorker, ToolRequest};
use tokio::sync::{mpsc, oneshot};

use crate::model::ToolCall;
use crate::tool_client::{CallContext, Waited, until_decided};
use crate::wall_clock::WallClock;

#[derive(Debug, Clone)]
pub(crate) struct SupervisorTools {
    outgoing: mpsc::Sender<FromWorker>,
    waiting: Arc<Mutex<HashMap<EventId, oneshot::Sender<Envelope>>>>,
}

/// Forgets a request whose caller has gone.
struct Forget<'a>(&'a SupervisorTools, EventId);

impl SupervisorTools {
    pub(crate) fn new(outgoing: mpsc::Sender<FromWorker>) -> Self {
        Self { outgoing, waiting: Arc::default() }
    }

    /// Makes a call and returns the answer. Never resolves without a supervisor: the process ends then.
    pub(crate) async fn call(&self, call: &ToolCall, caller: CallContext<'_>, clock: &WallClock) -> Waited {
        // Its keeper knows the call by its arguments: there is no key.
        let answered = until_decided(clock, "", |wait| self.call_once(call, caller, wait)).await;
        answered.unwrap_or_else(|never| match never {})
    }

    async fn call_once(
        &self,
        call: &ToolCall,
        caller: CallContext<'_>,
        wait: Option<Duration>,
    ) -> Result<Envelope, Infallible> {
        let request = ToolRequest {
            id: EventId::new(),
            task_id: caller.task.task_id.clone(),
            parent_event_id: caller.turn_id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            wait_seconds: wait.unwrap_or_default().as_secs(),
        };
        let (reply, replied) = oneshot::channel();
        let forget = Forget(self, request.id.clone());
        self.waiting().insert(request.id.clone(), reply);
        let _ = self.outgoing.send(FromWorker::Request(request)).await;
        let answer = replied.await;
        drop(forget);
        match answer {
            Ok(envelope) => Ok(envelope),
            Err(_) => std::future::pending().await,
        }
    }

    /// Hands a reply to the call that waits for it, if any still does.
    pub(crate) fn replied(&self, id: &EventId, envelope: Envelope) {
        let waiting = self.waiting().remove(id);
        if waiting.is_none_or(|reply| reply.send(envelope).is_err()) {
            tracing::info!(%id, "nobody waits for a reply of the supervisor any more");
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<EventId, oneshot::Sender<Envelope>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.waiting().remove(&self.1);
    }
}
