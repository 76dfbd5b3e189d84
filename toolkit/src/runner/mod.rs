//! The runner: every call goes the same three steps.
//!
//! **Prepare**: the tool is looked up, the body is parsed, and the guards let the call pass, in this order:
//!
//! 1. **known tool**: the registry has a tool of that name.
//! 2. **enabled**: the operator has not disabled it.
//! 3. **token**: the caller's token may call it, in this session, and not too often.
//! 4. **channel**: the tool works in chats of the session's channel, and what asks people has the supervisor.
//! 5. **tool allow-list**: the skill that the task has read allows it.
//! 6. **circuit**: the tool, or the machine that the call needs, has not failed repeatedly in this session.
//! 7. **valid arguments**: the body fits the tool's schema; what the session has kept for it is added.
//! 8. **idempotency**: the call's key is new; a known key gets the first answer.
//! 9. **policy**: the operator's rules allow it, or a person does; a question of the call is answered.
//! 10. **slot and deadline**: not too many calls are running.
//!
//! **Execute**: the start is recorded, and only then the tool runs, within its deadline, on a thread that may
//! block. A [quick] call begins on the runtime's own thread.
//!
//! **Finalise**: the outcome becomes an envelope, secrets are replaced in it, and the end is recorded.
//!
//! A call that a guard stops is answered and recorded like any other. A call runs to its own end even when
//! its caller goes away; nothing runs that could not be recorded first.

pub mod approvals;
mod asking;
mod call;
mod envelope;
mod guard;
mod guards;
mod lookup;
mod meter;
mod output_keeper;
mod quick;
mod recorder;
mod replay;
mod request;
mod settings;
mod stop;

use redaction::Redactor;
use std::any::Any;
use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use protocol::journal::{CallEnded, CallReplayed, CallStarted};
use protocol::{Data, Envelope, ErrorCode, ToolError, ToolSpec};
use serde_json::{Map, Value};

use self::call::{CallInfo, CancelOnDrop, PendingCall};
use self::guard::{Check, Guards};
use self::guards::{Slots, guards};
use self::quick::SharedQuickCalls;
use self::stop::Stop;
use crate::locks::Locks;
use crate::policy::Caller;
use crate::{Call, Failure, Grant, Outcome, Registry, Slot, Success};

pub use envelope::{answer, refusal};
pub use guards::disabled;
pub use meter::Meter;
pub use output_keeper::OutputKeeper;
pub use recorder::{CallIds, Recorder};
pub use request::Request;
pub use settings::{RunnerSettings, WorkingDirectory};

/// How long after its deadline a tool may take to notice it, before the runner answers for it.
const DEADLINE_GRACE: Duration = Duration::from_millis(100);

/// Runs calls of the registry's tools.
pub struct Runner {
    registry: Registry,
    settings: RunnerSettings,
    guards: Guards,
    locks: Arc<Locks>,
    recorder: Arc<dyn Recorder>,
    redactor: Arc<Redactor>,
    quick: SharedQuickCalls,
    slots: Arc<Slots>,
    meter: Option<Arc<dyn Meter>>,
    keeper: Option<Arc<dyn OutputKeeper>>,
}

impl Runner {
    /// A runner for the registry's tools.
    pub fn new(
        registry: Registry,
        settings: RunnerSettings,
        recorder: Arc<dyn Recorder>,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        let (locks, quick) = (Arc::default(), Arc::default());
        let slots = Arc::new(Slots::new(settings.max_commands));
        let guards = guards(&settings, &locks, &redactor, &quick, &slots)?;
        let (meter, keeper) = (None, None);
        Ok(Self { registry, settings, guards, locks, recorder, redactor, quick, slots, meter, keeper })
    }

    /// The same with its calls counted.
    #[must_use]
    pub fn counted_by(self, meter: Arc<dyn Meter>) -> Self {
        Self { meter: Some(meter), ..self }
    }

    /// The same with the outputs kept for which their records have no room.
    #[must_use]
    pub fn keeping_outputs(self, keeper: Arc<dyn OutputKeeper>) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    /// Of each kind of slot, how many are taken and how many there are.
    pub fn slots(&self) -> [(Slot, usize, usize); Slot::ALL.len()] {
        self.slots.taken()
    }

    /// Forgets what has expired. Call it hourly.
    pub fn sweep(&self) -> io::Result<()> {
        self.guards.iter().try_for_each(|(_, guard)| guard.sweep(SystemTime::now()))
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Whether a tool is on: it is not disabled, and can work here.
    pub fn is_offered(&self, name: &str) -> bool {
        !self.settings.disabled.contains(name) && self.registry.is_offered(name)
    }

    /// Whether a tool shows its output while it runs.
    pub fn streams(&self, name: &str) -> bool {
        self.registry.get(name).is_some_and(|tool| tool.streams())
    }

    /// The catalogue: the tools that are on in chats of a channel, or elsewhere, and that a token may call,
    /// sorted by name.
    pub fn specs(&self, channel: Option<&str>, grant: Option<&Grant>) -> Vec<&ToolSpec> {
        let may_call = |spec: &ToolSpec| {
            grant
                .zip(self.registry.get(&spec.name))
                .is_none_or(|(grant, tool)| grant.allows(&spec.name, spec.annotations, tool.slot()))
        };
        let is_shown = |spec: &&ToolSpec| {
            self.is_offered(&spec.name) && self.registry.works_in(&spec.name, channel) && may_call(spec)
        };
        self.registry.specs().filter(is_shown).collect()
    }

    /// The channels that have tools of their own.
    pub fn channels(&self) -> BTreeSet<&'static str> {
        self.registry.channels()
    }

    /// Runs one call and answers it. When the returned future is dropped, the call learns that its caller
    /// has gone, and still runs to its own end.
    pub async fn run(self: &Arc<Self>, request: Request) -> Envelope {
        let mut call = PendingCall::new(request, &self.registry, &self.settings);
        let passed = self.prepare(&mut call).await;
        let (info, timeout, caller) = (Arc::clone(&call.info), call.timeout, CancelOnDrop::new(&call));
        let deadline = info.since + timeout + DEADLINE_GRACE;
        let runner = Arc::clone(self);
        let is_quick = passed.is_ok() && call.tool.as_ref().is_ok_and(|tool| tool.is_quick());
        let quick = quick::of_this_runtime(&self.quick);
        let ended = quick.run(is_quick, deadline, move || runner.execute(call, passed)).await;
        let envelope = match ended {
            Ok(Ok(envelope)) => envelope,
            Ok(Err(panicked)) => self.finalise(&info, Err(internal(&info, &panicked.to_string()).into())),
            Err(_) => self.finalise(&info, Err(timed_out(timeout).into())),
        };
        caller.answered();
        envelope
    }

    async fn prepare(&self, call: &mut PendingCall) -> Result<(), Stop> {
        for (name, guard) in &self.guards {
            let passed = match guard.check(call) {
                Check::Done(passed) => passed,
                Check::Wait(passed) => passed.await,
            };
            passed.inspect_err(|_| tracing::debug!(guard = name, "a guard stopped the call"))?;
        }
        Ok(())
    }

    /// Records the call and runs its tool, unless a guard has stopped it.
    fn execute(&self, mut call: PendingCall, passed: Result<(), Stop>) -> Envelope {
        let passed: Result<(), Failure> = match passed {
            Ok(()) => Ok(()),
            Err(Stop::Refused(failure)) => Err(failure),
            Err(Stop::Replayed(answer)) => return self.replay(&call.info, *answer),
        };
        let arguments = call.show_arguments(&self.redactor);
        let (info, mut claim) = (Arc::clone(&call.info), call.claim.take());
        let started = self.record_start(&info, arguments).map_err(Failure::from).and(passed);
        let outcome = started.and_then(|()| {
            call.permit.iter().try_for_each(|permit| asking::take_permit(&self.settings, &call, permit))?;
            claim.iter_mut().try_for_each(guards::Claim::begin)?;
            self.run_tool(call)
        });
        let envelope = self.finalise(&info, outcome);
        if let Some(claim) = claim {
            claim.keep(&envelope);
        }
        envelope
    }

    /// Answers a call with the answer of an earlier one.
    fn replay(&self, info: &CallInfo, answer: Envelope) -> Envelope {
        let body = CallReplayed {
            tool_name: info.tool.clone(),
            token: info.ids.token.clone(),
            replayed_call_id: answer.meta.call_id.clone(),
            arguments_sha256: info.arguments_sha256.clone(),
            request_id: info.request_id.clone(),
            traceparent: info.traceparent.clone(),
        };
        match self.recorder.replayed(&info.ids, body) {
            Ok(()) => {
                self.meter.iter().for_each(|meter| meter.replayed(&info.tool));
                answer
            }
            Err(error) => {
                tracing::error!(call_id = %info.ids.call, %error, "a repeated call could not be recorded");
                let message = "The repeated call could not be written to the journal, so it is not answered.";
                let error = ToolError::new(ErrorCode::IoError, message)
                    .with_hint("The first call was run. Repeat it with the same key to get its answer.");
                self.finalise(info, Err(error.into()))
            }
        }
    }

    fn record_start(&self, info: &CallInfo, arguments: Map<String, Value>) -> Result<(), ToolError> {
        let body = CallStarted {
            tool_name: info.tool.clone(),
            token: info.ids.token.clone(),
            arguments,
            arguments_sha256: Some(info.arguments_sha256.clone()),
            arguments_file: None,
            risk: info.risk,
            request_id: info.request_id.clone(),
            traceparent: info.traceparent.clone(),
        };
        self.recorder.started(&info.ids, body).map_err(|error| {
            tracing::error!(call_id = %info.ids.call, %error, "a call could not be recorded and was not run");
            ToolError::new(
                ErrorCode::IoError,
                "The call could not be written to the journal, so it was not run.",
            )
            .with_hint("Ask the operator to check the journal's disk, then try again.")
        })
    }

    fn run_tool(&self, call: PendingCall) -> Outcome<Data> {
        let answer = asking::answer(&self.settings, call.permit.as_ref());
        let PendingCall {
            info,
            tool,
            arguments,
            token_sha256,
            cancelled,
            timeout,
            attachment,
            sink,
            slot: _slot,
            ..
        } = call;
        let (tool, arguments) = (tool?, arguments?);
        let policy = self.settings.policy.get();
        let caller = Caller::of(token_sha256.as_deref());
        let context = Call {
            id: info.ids.call.clone(),
            scope: info.scope.clone(),
            task: info.ids.task.clone(),
            token_sha256,
            deadline: info.since + timeout,
            bounds: self.settings.bounds,
            locks: Arc::clone(&self.locks),
            cancelled,
            below: tool.below(&policy, &arguments, &info.scope, caller),
            policy,
            attachment,
            answer,
            sink,
        };
        let success = catch_unwind(AssertUnwindSafe(|| tool.run(arguments, &context)))
            .unwrap_or_else(|panic| Err(internal(&info, panic_text(panic.as_ref())).into()))?;
        self.remember(&info, &success)?;
        Ok(success)
    }

    /// Keeps what later calls depend on.
    fn remember(&self, info: &CallInfo, success: &Success<Data>) -> Result<(), ToolError> {
        if let Some(seen) = &success.seen {
            self.locks.remember(&info.ids.session, seen.clone());
        }
        self.guards.iter().try_for_each(|(_, guard)| guard.succeeded(info, success))
    }

    /// Answers a call and records its end, unless that was done at its deadline.
    fn finalise(&self, info: &CallInfo, outcome: Outcome<Data>) -> Envelope {
        let allowed_tools = outcome.as_ref().ok().and_then(|success| success.allowed_tools.clone());
        let is_of_command = envelope::is_of_command(&outcome);
        let envelope = envelope::envelope(info, self.settings.cwd.of(&info.scope), outcome, &self.redactor);
        if info.end() {
            self.guards.iter().for_each(|(_, guard)| guard.ended(info, &envelope));
            let token = info.ids.token.clone();
            let output_file = self.output_file(info, &envelope, is_of_command);
            let ended = envelope::record(&envelope, allowed_tools);
            self.recorder.ended(&info.ids, CallEnded { token, output_file, ..ended });
            self.meter.iter().for_each(|meter| meter.ended(&envelope, info.took()));
        }
        envelope
    }

    /// The file with the whole output of a call, if its record has less. It is kept as the answer has it:
    /// redacted. A quick call waits for the file half as long as for its answer, so that of other tools is
    /// kept only for the call of a task, which waits for a model anyway.
    fn output_file(&self, info: &CallInfo, envelope: &Envelope, is_of_command: bool) -> Option<String> {
        if let Some(cut) = &envelope.meta.full_output {
            return Some(cut.path.rsplit('/').next()?.to_owned());
        }
        let keeper = self.keeper.as_ref().filter(|_| is_of_command || info.ids.task.is_some())?;
        let name = keeper.name_of(&info.ids);
        if envelope::runs_on(envelope) {
            // The process writes it itself.
            return Some(name);
        }
        match keeper.keep(&info.ids, &envelope::unrecorded_output(envelope, is_of_command)?) {
            Ok(()) => Some(name),
            Err(error) => {
                tracing::warn!(call_id = %info.ids.call, %error, "could not keep the output of a call");
                None
            }
        }
    }
}

fn timed_out(timeout: Duration) -> ToolError {
    let message = format!("The call did not end within {} s.", timeout.as_secs_f64());
    ToolError::new(ErrorCode::Timeout, message)
}

fn internal(info: &CallInfo, cause: &str) -> ToolError {
    tracing::error!(call_id = %info.ids.call, tool = info.tool, cause, "internal error in a tool");
    let message = format!("Internal error in `{}` (call {}).", info.tool, info.ids.call);
    ToolError::new(ErrorCode::Internal, message)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests;
