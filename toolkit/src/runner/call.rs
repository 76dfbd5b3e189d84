//! A call between its arrival and its answer.

use redaction::Redactor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use protocol::hash::sha256;
use protocol::{Risk, ToolError};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use super::approvals::Permit;
use super::guards::Claim;
use super::lookup::{find, find_transfer};
use super::{CallIds, Request, RunnerSettings};
use crate::policy::Caller;
use crate::registry::AnyTool;
use crate::{Attachment, OutputSink, Registry, Scope, Slot, arguments};

/// The facts of a call. The thread that runs it and the task that answers when it is late share them.
pub(super) struct CallInfo {
    pub(super) ids: CallIds,
    /// Its session, and what its token may do there.
    pub(super) scope: Scope,
    pub(super) tool: String,
    pub(super) risk: Risk,
    /// Whether its task was set earlier.
    pub(super) is_scheduled: bool,
    /// Whether no person can be asked about it.
    pub(super) is_unattended: bool,
    pub(super) request_id: Option<String>,
    pub(super) traceparent: Option<String>,
    pub(super) since: Instant,
    /// The other machine that it needs.
    pub(super) depends_on: Option<String>,
    /// Of the request's body as it was sent.
    pub(super) arguments_sha256: String,
    /// How long a person took to allow it.
    pub(super) waited: OnceLock<Duration>,
    shown: OnceLock<ShownArguments>,
    ended: AtomicBool,
}

/// The arguments as the answer repeats them: redacted, then bounded.
#[derive(Clone, Default)]
pub(super) struct ShownArguments {
    pub(super) arguments: Map<String, Value>,
    /// Whether a secret was replaced in the shown text.
    pub(super) redacted: bool,
}

/// A call on its way through the guards. Each one that it passes may add to it.
pub(super) struct PendingCall {
    pub(super) info: Arc<CallInfo>,
    pub(super) tool: Result<Arc<dyn AnyTool>, ToolError>,
    pub(super) arguments: Result<Value, ToolError>,
    pub(super) idempotency_key: Option<String>,
    /// Whose key it is: the digest of the token that the caller presented.
    pub(super) token_sha256: Option<String>,
    /// Set when the caller has gone.
    pub(super) cancelled: Arc<AtomicBool>,
    /// How long the call may take from its arrival on.
    pub(super) timeout: Duration,
    pub(super) attachment: Option<Attachment>,
    /// Where its output goes while it runs.
    pub(super) sink: Option<Arc<dyn OutputSink>>,
    /// How long it waits for a person, if one must allow it.
    pub(super) wait: Duration,
    /// A person's yes.
    pub(super) permit: Option<Permit>,
    pub(super) claim: Option<Claim>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

impl PendingCall {
    pub(super) fn new(request: Request, registry: &Registry, settings: &RunnerSettings) -> Self {
        let tool = match &request.attachment {
            None => find(registry, &settings.disabled, &request.tool, &request.session),
            Some(_) => find_transfer(registry, &request.tool),
        };
        let mut arguments = arguments::parse_object(&request.body).map(Value::Object);
        if let (Ok(tool), Ok(arguments)) = (&tool, &mut arguments) {
            tool.normalize(arguments);
        }
        let depends_on = match (&tool, &arguments) {
            (Ok(tool), Ok(arguments)) => tool.depends_on(arguments),
            (_, _) => None,
        };
        let scope = Scope::new(request.session, request.grant);
        let info = CallInfo {
            ids: CallIds::of(request.parent, request.task, &scope),
            scope,
            tool: arguments::elide(&request.tool, 60),
            risk: tool.as_ref().map_or(Risk::Low, |tool| tool.spec().risk),
            is_scheduled: request.is_scheduled,
            is_unattended: request.is_unattended,
            request_id: request.request_id,
            traceparent: request.traceparent,
            since: Instant::now(),
            depends_on,
            arguments_sha256: sha256(&request.body),
            waited: OnceLock::new(),
            shown: OnceLock::new(),
            ended: AtomicBool::new(false),
        };
        Self {
            info: Arc::new(info),
            tool,
            arguments,
            idempotency_key: request.idempotency_key,
            token_sha256: request.token_sha256,
            cancelled: Arc::default(),
            timeout: settings.timeout,
            attachment: request.attachment,
            sink: request.sink,
            wait: request.wait,
            permit: None,
            claim: None,
            slot: None,
        }
    }

    /// Who sent it.
    pub(super) fn caller(&self) -> Caller {
        Caller::of(self.token_sha256.as_deref())
    }

    /// Whether its result is the answer of a person.
    pub(super) fn asks_question(&self) -> bool {
        self.parts().is_ok_and(|(tool, arguments)| tool.question(arguments).is_some())
    }

    /// The idempotency key of a call that asks a question: it finds the answer again.
    pub(super) fn question_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref().filter(|_| self.asks_question())
    }

    /// The tool and its arguments, or the error of the first that is missing.
    pub(super) fn parts(&self) -> Result<(&Arc<dyn AnyTool>, &Value), ToolError> {
        let tool = self.tool.as_ref().map_err(Clone::clone)?;
        Ok((tool, self.arguments.as_ref().map_err(Clone::clone)?))
    }

    /// Prepares what the answer shows of the arguments, and returns all of them, redacted, for the journal.
    /// Call it before the tool consumes them.
    pub(super) fn show_arguments(&self, redactor: &Redactor) -> Map<String, Value> {
        let Ok(arguments) = &self.arguments else { return Map::new() };
        let mut clean = arguments.clone();
        let runs = self.tool.as_ref().is_ok_and(|tool| tool.slot() == Slot::Command);
        let mut found =
            if runs { redactor.redact_command(&mut clean) } else { redactor.redact_value(&mut clean) };
        // What runs is in the command; a value of `env` is hidden because of its name, too.
        found |= clean.get_mut("env").is_some_and(|env| redactor.redact_value(env));
        let _ = self.info.shown.set(ShownArguments::of(&clean, found, arguments));
        if let Value::Object(clean) = clean { clean } else { Map::new() }
    }
}

impl CallInfo {
    /// The shown part of the arguments; empty before the call has started.
    pub(super) fn shown_arguments(&self) -> ShownArguments {
        self.shown.get().cloned().unwrap_or_default()
    }

    /// How long the call has taken, without the wait for a person.
    pub(super) fn took(&self) -> Duration {
        self.since.elapsed().saturating_sub(self.waited.get().copied().unwrap_or_default())
    }

    /// True the first time. A call that was answered at its deadline ends a second time later.
    pub(super) fn end(&self) -> bool {
        !self.ended.swap(true, Ordering::AcqRel)
    }
}

impl ShownArguments {
    /// They were redacted before, so that no secret is cut in two and missed.
    fn of(clean: &Value, found: bool, given: &Value) -> Self {
        let bounded = |value: &Value| value.as_object().map(arguments::bounded).unwrap_or_default();
        let shown = bounded(clean);
        Self { redacted: found && shown != bounded(given), arguments: shown }
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
