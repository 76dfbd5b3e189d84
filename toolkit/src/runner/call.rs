//! A call between its arrival and its answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use protocol::{EventId, Risk, ToolError};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use super::guards::Claim;
use super::guards::known_tool::find;
use super::{CallIds, Request, RunnerSettings};
use crate::registry::AnyTool;
use crate::{Redactor, Registry, arguments};

/// The facts of a call. The thread that runs it and the task that answers when it is late share them.
pub(super) struct CallInfo {
    pub(super) ids: CallIds,
    pub(super) tool: String,
    pub(super) risk: Risk,
    pub(super) request_id: Option<String>,
    pub(super) traceparent: Option<String>,
    pub(super) since: Instant,
    shown: OnceLock<ShownArguments>,
    ended: AtomicBool,
}

/// The arguments as the journal and the answer repeat them: redacted, then bounded.
#[derive(Clone, Default)]
pub(super) struct ShownArguments {
    pub(super) arguments: Map<String, Value>,
    /// Whether a secret was replaced in what is shown.
    pub(super) redacted: bool,
}

/// A call on its way through the guards. Each one that it passes may add to it.
pub(super) struct PendingCall {
    pub(super) info: Arc<CallInfo>,
    pub(super) tool: Result<Arc<dyn AnyTool>, ToolError>,
    pub(super) arguments: Result<Value, ToolError>,
    pub(super) body: Vec<u8>,
    pub(super) idempotency_key: Option<String>,
    /// Set when the caller has gone.
    pub(super) cancelled: Arc<AtomicBool>,
    /// How long the call may take from its arrival on.
    pub(super) timeout: Duration,
    pub(super) claim: Option<Claim>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

impl PendingCall {
    pub(super) fn new(request: Request, registry: &Registry, settings: &RunnerSettings) -> Self {
        let tool = find(registry, &request.tool);
        let info = CallInfo {
            ids: CallIds {
                call: EventId::new(),
                parent: request.parent,
                task: request.task,
                session: request.session,
            },
            tool: arguments::elide(&request.tool, 60),
            risk: tool.as_ref().map_or(Risk::Low, |tool| tool.spec().risk),
            request_id: request.request_id,
            traceparent: request.traceparent,
            since: Instant::now(),
            shown: OnceLock::new(),
            ended: AtomicBool::new(false),
        };
        Self {
            info: Arc::new(info),
            tool,
            arguments: arguments::parse_object(&request.body).map(Value::Object),
            body: request.body,
            idempotency_key: request.idempotency_key,
            cancelled: Arc::default(),
            timeout: settings.timeout,
            claim: None,
            slot: None,
        }
    }

    /// The tool and its arguments, or the error of the first that is missing.
    pub(super) fn parts(&self) -> Result<(&Arc<dyn AnyTool>, &Value), ToolError> {
        let tool = self.tool.as_ref().map_err(Clone::clone)?;
        Ok((tool, self.arguments.as_ref().map_err(Clone::clone)?))
    }

    /// Prepares what is shown of the arguments. Call it before the tool consumes them.
    pub(super) fn show_arguments(&self, redactor: &Redactor) {
        let shown = self.arguments.as_ref().map(|arguments| ShownArguments::of(arguments, redactor));
        let _ = self.info.shown.set(shown.unwrap_or_default());
    }
}

impl CallInfo {
    /// What is shown of the arguments; empty before the call has started.
    pub(super) fn shown_arguments(&self) -> ShownArguments {
        self.shown.get().cloned().unwrap_or_default()
    }

    /// True the first time. A call that was answered at its deadline ends a second time later.
    pub(super) fn end(&self) -> bool {
        !self.ended.swap(true, Ordering::AcqRel)
    }
}

impl ShownArguments {
    /// Redacts before it bounds, so that no secret is cut in two and missed.
    fn of(arguments: &Value, redactor: &Redactor) -> Self {
        let mut clean = arguments.clone();
        let found = redactor.redact_value(&mut clean);
        let bounded = |value: &Value| value.as_object().map(arguments::bounded).unwrap_or_default();
        let shown = bounded(&clean);
        Self { redacted: found && shown != bounded(arguments), arguments: shown }
    }
}

/// Tells the call that its caller has gone, unless the caller got an answer.
pub(super) struct CancelOnDrop {
    cancelled: Arc<AtomicBool>,
    is_answered: bool,
}

impl CancelOnDrop {
    pub(super) fn new(call: &PendingCall) -> Self {
        Self { cancelled: Arc::clone(&call.cancelled), is_answered: false }
    }

    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.is_answered {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }
}
