//! The runner: every call goes past the same guards, in this order.
//!
//! known tool → allowed, also by the task's skill → circuit closed → arguments valid → slot → idempotency → recorded → the tool,
//! within its deadline → locks refreshed → redaction → answered → recorded. A call that a guard refuses is answered and recorded like any other. A call runs to its own
//! end even when its caller goes away; nothing runs that could not be recorded first.

mod answer;
mod bindings;
mod circuit;
mod idempotency;
mod slots;

use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use protocol::journal::{CallEnded, CallStarted};
use protocol::{Envelope, ErrorCode, EventId, Risk, SessionId, TaskId, ToolError, ToolSpec};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use self::bindings::Bindings;
use self::circuit::Circuits;
use self::idempotency::{Claim, Keys};
use self::slots::Slots;
use crate::locks::Locks;
use crate::registry::AnyTool;
use crate::tool::{Call, Output};
use crate::{Bounds, Redactor, Registry, arguments};

/// How long after its deadline a tool may take to notice it by itself, before it is answered for.
const DEADLINE_GRACE: Duration = Duration::from_millis(100);

/// How much longer than its own deadline a tool that has one may take, to end what it runs.
const OWN_DEADLINE_MARGIN: Duration = Duration::from_secs(10);

/// A call as it arrives, over whichever route.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// The arguments, as raw JSON.
    pub body: Vec<u8>,
    /// Whose reads and locks the call uses.
    pub session: SessionId,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// The event that it happens under.
    pub parent: Option<EventId>,
    /// The caller's own id for the request.
    pub request_id: Option<String>,
    /// The caller's trace context.
    pub traceparent: Option<String>,
    /// The key under which the call acts at most once.
    pub idempotency_key: Option<String>,
}

/// Whom a record is about.
#[derive(Debug, Clone)]
pub struct CallIds {
    /// The call.
    pub call: EventId,
    /// The event that it happens under.
    pub parent: Option<EventId>,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// Its session.
    pub session: SessionId,
}

/// Where calls are recorded.
pub trait Recorder: Send + Sync + 'static {
    /// Records that a call is about to act. When this fails, the call is not run.
    fn started(&self, ids: &CallIds, body: CallStarted) -> io::Result<()>;

    /// Records how a call ended. A failure is the recorder's to report: the call is over.
    fn ended(&self, ids: &CallIds, body: CallEnded);
}

/// What holds for all calls of a runner.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Tools that are switched off.
    pub disabled: BTreeSet<String>,
    /// How long a call may take.
    pub timeout: Duration,
    /// How much `stdout` may hold.
    pub bounds: Bounds,
    /// Where relative paths start.
    pub cwd: String,
    /// Where the runner keeps what has to outlive the server: idempotency keys and bindings of tasks.
    pub state_dir: PathBuf,
}

/// Runs calls of the registry's tools.
pub struct Runner {
    registry: Registry,
    settings: RunnerSettings,
    slots: Slots,
    circuits: Circuits,
    keys: Keys,
    bindings: Bindings,
    locks: Arc<Locks>,
    recorder: Arc<dyn Recorder>,
    redactor: Arc<Redactor>,
}

/// A call between its arrival and its answer.
struct Opened {
    ids: CallIds,
    request: Request,
    arguments: Result<Map<String, Value>, ToolError>,
    risk: Risk,
    since: Instant,
    cancelled: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

/// A call that every guard let pass, with the place that it holds until its tool is done.
struct Admitted {
    call: Call,
    arguments: Value,
    timeout: Duration,
    _slot: OwnedSemaphorePermit,
}

impl Runner {
    /// A runner for the registry's tools.
    pub fn new(
        registry: Registry,
        settings: RunnerSettings,
        recorder: Arc<dyn Recorder>,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        let keys = Keys::open(&settings.state_dir.join("idempotency"))?;
        let bindings = Bindings::open(&settings.state_dir.join("bindings"))?;
        Ok(Self {
            registry,
            settings,
            slots: Slots::new(),
            circuits: Circuits::default(),
            keys,
            bindings,
            locks: Arc::default(),
            recorder,
            redactor,
        })
    }

    /// Forgets what is kept for a day only. Call it hourly.
    pub fn sweep(&self) -> io::Result<()> {
        self.keys.sweep(SystemTime::now())?;
        self.bindings.sweep(SystemTime::now())
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The catalogue: the tools that are not switched off, sorted by name.
    pub fn specs(&self) -> Vec<&ToolSpec> {
        self.registry.specs().filter(|spec| !self.settings.disabled.contains(&spec.name)).collect()
    }

    /// Runs one call and answers it. When the returned future is dropped, the call is told that its caller
    /// has gone and still runs to its own end.
    pub async fn run(self: &Arc<Self>, request: Request) -> Envelope {
        let opened = self.open(request);
        let caller = Caller(Arc::clone(&opened.cancelled));
        let overdue = opened.stand_in();
        let admitted = self.admit(&opened).await;
        let timeout = admitted.as_ref().map_or(self.settings.timeout, |admitted| admitted.timeout);
        let deadline = opened.since + timeout + DEADLINE_GRACE;
        let runner = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || runner.execute(opened, admitted));
        let envelope = match tokio::time::timeout_at(deadline.into(), work).await {
            Ok(Ok(envelope)) => envelope,
            Ok(Err(lost)) => self.finish(&overdue, Err(internal(&overdue.ids, &lost.to_string()))),
            Err(_) => self.finish(&overdue, Err(timed_out(timeout))),
        };
        caller.stayed();
        envelope
    }

    fn open(&self, request: Request) -> Opened {
        let ids = CallIds {
            call: EventId::new(),
            parent: request.parent.clone(),
            task: request.task.clone(),
            session: request.session.clone(),
        };
        Opened {
            ids,
            arguments: arguments::parse_object(&request.body),
            risk: self.registry.get(&request.tool).map_or(Risk::Low, |tool| tool.spec().risk),
            request,
            since: Instant::now(),
            cancelled: Arc::default(),
            ended: Arc::default(),
        }
    }

    /// The guards before the tool, in their order.
    async fn admit(&self, opened: &Opened) -> Result<Admitted, ToolError> {
        let tool = self.known(&opened.request.tool)?;
        self.allowed(&opened.request.tool)?;
        self.bindings.admit(opened.ids.task.as_ref(), &opened.request.tool)?;
        self.circuits.admit(&opened.ids.session, &opened.request.tool, opened.since)?;
        let arguments = Value::Object(opened.arguments.clone()?);
        tool.validate(&arguments)?;
        let slot = self.slots.take(tool.slot()).await?;
        let waited = opened.since.elapsed();
        let own = tool.timeout(&arguments).map(|own| waited + own + OWN_DEADLINE_MARGIN);
        let timeout = own.unwrap_or(self.settings.timeout);
        let call = Call {
            id: opened.ids.call.clone(),
            session: opened.ids.session.clone(),
            deadline: opened.since + timeout,
            bounds: self.settings.bounds,
            locks: Arc::clone(&self.locks),
            cancelled: Arc::clone(&opened.cancelled),
        };
        Ok(Admitted { call, arguments, timeout, _slot: slot })
    }

    fn known(&self, name: &str) -> Result<&dyn AnyTool, ToolError> {
        self.registry.get(name).ok_or_else(|| {
            let near = arguments::nearest(name, self.registry.names());
            let meant = near.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
            let names = self.registry.names().collect::<Vec<_>>().join(", ");
            let message = format!("There is no tool `{}`.{meant}", arguments::elide(name, 60));
            ToolError::new(ErrorCode::UnknownTool, message).with_hint(format!("The tools are: {names}."))
        })
    }

    fn allowed(&self, name: &str) -> Result<(), ToolError> {
        if self.settings.disabled.contains(name) {
            let message = format!("The tool `{name}` is switched off by AUTONOUS_TOOL_DISABLED.");
            return Err(ToolError::new(ErrorCode::ToolNotAllowed, message));
        }
        Ok(())
    }

    /// Runs a call once for its idempotency key.
    fn execute(&self, opened: Opened, admitted: Result<Admitted, ToolError>) -> Envelope {
        let tool = &opened.request.tool;
        let acts = self.registry.get(tool).is_some_and(|tool| !tool.spec().annotations.read_only);
        let key = opened.request.idempotency_key.as_deref().filter(|_| acts && admitted.is_ok());
        match key.map(|key| self.keys.claim(tool, key, &opened.request.body)) {
            None => self.record_and_run(&opened, admitted).0,
            Some(Ok(Claim::Answered(envelope))) => *envelope,
            Some(Err(refused)) => self.record_and_run(&opened, Err(refused)).0,
            Some(Ok(Claim::Ours(ours))) => {
                let (envelope, was_recorded) = self.record_and_run(&opened, admitted);
                if was_recorded {
                    self.keys.keep(&ours, &envelope);
                } else {
                    self.keys.release(&ours);
                }
                envelope
            }
        }
    }

    /// Records the call, runs it if it was admitted, and records its end; and whether it could be recorded.
    fn record_and_run(&self, opened: &Opened, admitted: Result<Admitted, ToolError>) -> (Envelope, bool) {
        let recorded = self.record_start(opened);
        let was_recorded = recorded.is_ok();
        let result = recorded.and(admitted).and_then(|admitted| self.run_tool(opened, admitted));
        (self.finish(opened, result), was_recorded)
    }

    fn record_start(&self, opened: &Opened) -> Result<(), ToolError> {
        let body = CallStarted {
            tool_name: arguments::elide(&opened.request.tool, 60),
            arguments: self.recorded_arguments(opened),
            risk: opened.risk,
            request_id: opened.request.request_id.clone(),
            traceparent: opened.request.traceparent.clone(),
        };
        self.recorder.started(&opened.ids, body).map_err(|error| {
            tracing::error!(call_id = %opened.ids.call, %error, "a call could not be recorded and was not run");
            ToolError::new(ErrorCode::IoError, "The call could not be written to the journal, so it was not run.")
                .with_hint("Whoever runs the server has to look at the journal's disk; try again after that.")
        })
    }

    fn recorded_arguments(&self, opened: &Opened) -> Map<String, Value> {
        let mut arguments = opened.arguments.clone().unwrap_or_default();
        answer::redact_object(&mut arguments, &self.redactor);
        arguments::bounded(&arguments)
    }

    fn run_tool(&self, opened: &Opened, admitted: Admitted) -> Result<Output<Value>, ToolError> {
        let tool = self.known(&opened.request.tool)?;
        let Admitted { call, arguments, timeout: _, _slot } = admitted;
        let result = catch_unwind(AssertUnwindSafe(|| tool.run(arguments, &call)))
            .unwrap_or_else(|panic| Err(internal(&opened.ids, panic_text(panic.as_ref()))));
        if let Ok(output) = &result {
            self.remember(opened, &call, output)?;
        }
        result
    }

    /// Keeps what a call means for later ones: what its session has seen, what its task may call.
    fn remember(&self, opened: &Opened, call: &Call, output: &Output<Value>) -> Result<(), ToolError> {
        if let Some(seen) = &output.seen {
            self.locks.remember(&call.session, seen.clone());
        }
        if let (Some(task), Some(tools)) = (&opened.ids.task, &output.allowed_tools) {
            self.bindings.bind(task, tools.clone()).map_err(|error| {
                tracing::error!(%task, %error, "a task could not be bound to its skill");
                ToolError::new(
                    ErrorCode::IoError,
                    "The task could not be bound to the skill, so the skill is not shown.",
                )
            })?;
        }
        Ok(())
    }

    /// Answers a call and records its end, unless somebody answered it before.
    fn finish(&self, opened: &Opened, result: Result<Output<Value>, ToolError>) -> Envelope {
        let mut envelope = answer::envelope(opened, &self.settings.cwd, result);
        answer::redact(&mut envelope, &self.redactor);
        if !opened.ended.swap(true, Ordering::AcqRel) {
            let (session, tool) = (&opened.ids.session, &opened.request.tool);
            self.circuits.settle(session, tool, envelope.meta.error.as_ref(), Instant::now());
            self.recorder.ended(&opened.ids, answer::record(&envelope));
        }
        envelope
    }
}

impl Opened {
    /// The same call without its body, to answer it when its tool does not.
    fn stand_in(&self) -> Self {
        Self {
            ids: self.ids.clone(),
            request: Request { body: Vec::new(), ..self.request.clone() },
            arguments: self.arguments.as_ref().map(arguments::bounded).map_err(Clone::clone),
            risk: self.risk,
            since: self.since,
            cancelled: Arc::clone(&self.cancelled),
            ended: Arc::clone(&self.ended),
        }
    }
}

/// The answer to a request that never became a call; it is not recorded.
pub fn refusal(tool: &str, error: ToolError) -> Envelope {
    let request = Request {
        tool: tool.to_owned(),
        body: Vec::new(),
        session: SessionId::default_session(),
        task: None,
        parent: None,
        request_id: None,
        traceparent: None,
        idempotency_key: None,
    };
    let opened = Opened {
        ids: CallIds { call: EventId::new(), parent: None, task: None, session: request.session.clone() },
        request,
        arguments: Ok(Map::new()),
        risk: Risk::Low,
        since: Instant::now(),
        cancelled: Arc::default(),
        ended: Arc::default(),
    };
    answer::envelope(&opened, "", Err(error))
}

/// Tells the call that its caller has gone when it is dropped too early.
struct Caller(Arc<AtomicBool>);

impl Caller {
    /// The caller has got its answer.
    fn stayed(self) {
        std::mem::forget(self);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn timed_out(timeout: Duration) -> ToolError {
    let message = format!("The call did not end within {} s.", timeout.as_secs_f64());
    ToolError::new(ErrorCode::Timeout, message)
}

fn internal(ids: &CallIds, cause: &str) -> ToolError {
    tracing::error!(call_id = %ids.call, cause, "a tool failed by a mistake of its own");
    ToolError::new(
        ErrorCode::Internal,
        format!("The tool failed by a mistake of its own (call {}).", ids.call),
    )
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}
