//! The events of a task as spans, with the attributes of OpenTelemetry's conventions for generative AI.
//!
//! Below the task's own span are its requests to models, its tool calls, and the waits for people. A call
//! outside of tasks is a trace of its own. IDs come from those of the events, so what is sent twice is the
//! same trace.

use std::collections::HashMap;

use opentelemetry_proto::tonic::common::v1::KeyValue;
pub(super) use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use protocol::event::{
    ModelRequestCompleted, RequestFailed, RetryExhausted, RetryScheduled, TurnCompleted, TurnStarted,
};
use protocol::journal::{CallEnded, CallStarted};
use protocol::{Event, EventBody, EventId, TaskId};

use super::attributes::{failed, id, list, nanoseconds, number, text};
use super::trace_parent::TraceParent;

const SESSION: &str = "gen_ai.conversation.id";
const ERROR_TYPE: &str = "error.type";

/// What is made of a task's events, and the starts whose ends are still to come, with their times.
struct Maker<'a> {
    trace_id: [u8; 16],
    /// The span that all others are below; empty for none.
    root: Vec<u8>,
    has_content: bool,
    turns: HashMap<&'a EventId, (&'a TurnStarted, i64)>,
    failures: HashMap<&'a EventId, Vec<SpanEvent>>,
    calls: HashMap<&'a EventId, (&'a CallStarted, i64)>,
    approvals: HashMap<&'a EventId, i64>,
    spans: Vec<Span>,
}

/// The spans of a task, its own one first. `caller` is the trace that it belongs to.
pub(super) fn of_task(
    task: &TaskId,
    events: &[Event],
    caller: Option<TraceParent>,
    has_content: bool,
) -> Vec<Span> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Vec::new() };
    let root: [u8; 8] = id(task.as_str());
    let mut maker = Maker::new(task.as_str(), caller, root.to_vec(), has_content);
    let mut own = maker.span(task.as_str(), "task", (first.time_ms, last.time_ms), SpanKind::Server);
    own.parent_span_id = caller.map_or_else(Vec::new, |caller| caller.span_id.to_vec());
    own.attributes =
        vec![text("gen_ai.operation.name", "invoke_agent"), text("autonous.task.id", task.as_str())];
    for event in events {
        about_task(&mut own, &event.body);
        maker.add(event);
    }
    maker.close(last.time_ms);
    let mut spans = vec![own];
    spans.append(&mut maker.spans);
    spans
}

/// The span of a call outside of tasks, below that of its caller if it names one.
pub(super) fn of_call(start: &Event, end: &Event, has_content: bool) -> Option<Span> {
    let EventBody::ToolCallStarted(started) = &start.body else { return None };
    let caller = started.call.traceparent.as_ref().and_then(|caller| caller.parse::<TraceParent>().ok());
    let root = caller.map_or_else(Vec::new, |caller| caller.span_id.to_vec());
    let mut maker = Maker::new(start.id.as_str(), caller, root, has_content);
    [start, end].into_iter().for_each(|event| maker.add(event));
    let mut span = maker.spans.pop()?;
    span.kind = SpanKind::Server.into();
    span.attributes.push(text(SESSION, started.session_id.as_str()));
    Some(span)
}

/// Notes what an event says of the task as a whole.
fn about_task(own: &mut Span, event: &EventBody) {
    match event {
        EventBody::AgentStarted(agent) => {
            own.attributes.retain(|one| one.key != SESSION);
            own.attributes.push(text(SESSION, agent.session_id.as_str()));
        }
        EventBody::TaskDone(_) => own.status = None,
        EventBody::TaskDead(dead) => own.status = failed(&dead.error),
        EventBody::TaskCancelled(_) => own.status = failed("cancelled"),
        _ => {}
    }
}

impl<'a> Maker<'a> {
    fn new(of: &str, caller: Option<TraceParent>, root: Vec<u8>, has_content: bool) -> Self {
        Self {
            trace_id: caller.map_or_else(|| id(of), |caller| caller.trace_id),
            root,
            has_content,
            turns: HashMap::new(),
            failures: HashMap::new(),
            calls: HashMap::new(),
            approvals: HashMap::new(),
            spans: Vec::new(),
        }
    }

    fn add(&mut self, event: &'a Event) {
        let (parent, time_ms) = (event.parent_id.as_ref(), event.time_ms);
        match &event.body {
            EventBody::TurnStarted(turn) => {
                self.turns.insert(&event.id, (turn, time_ms));
            }
            EventBody::TurnCompleted(turn) => self.turn_ended(parent, turn),
            EventBody::ModelRequestCompleted(request) => self.request_ended(event, request),
            EventBody::RetryScheduled(RetryScheduled::Request { failed, .. })
            | EventBody::RetryExhausted(RetryExhausted::Request(failed)) => {
                self.request_failed(parent, time_ms, failed);
            }
            EventBody::ToolCallStarted(started) => {
                self.calls.insert(&event.id, (&started.call, time_ms));
            }
            EventBody::ToolCallCompleted(ended) => self.call_ended(parent, time_ms, Ok(&ended.call)),
            EventBody::ToolCallFailed(ended) => self.call_ended(parent, time_ms, Ok(&ended.call)),
            EventBody::ToolCallInterrupted(ended) => self.call_ended(parent, time_ms, Err(&ended.error)),
            EventBody::ApprovalRequested(asked) => {
                self.approvals.insert(&asked.approval_id, time_ms);
            }
            EventBody::ApprovalGranted(end) => {
                self.decided((&end.approval_id, &end.tool_name), "granted", time_ms);
            }
            EventBody::ApprovalDenied(end) => {
                self.decided((&end.approval_id, &end.tool_name), "denied", time_ms);
            }
            EventBody::ApprovalExpired(end) => {
                self.decided((&end.approval_id, &end.tool_name), "expired", time_ms);
            }
            _ => {}
        }
    }

    /// The span of a turn is its request: what its calls take is theirs.
    fn turn_ended(&mut self, start: Option<&EventId>, turn: &TurnCompleted) {
        let Some((id, (started, began))) = start.and_then(|start| self.turns.remove_entry(start)) else {
            return;
        };
        let end = began.saturating_add(i64::try_from(turn.latency_ms).unwrap_or(i64::MAX));
        let mut span = self.chat(id, &started.model_name, turn.provider.as_deref(), (began, end));
        let reason = match (turn.cut, turn.tool_calls) {
            (true, _) => "length",
            (false, 0) => "stop",
            (false, _) => "tool_calls",
        };
        span.attributes.extend([
            number("autonous.turn", started.turn.into()),
            text("gen_ai.response.model", &turn.model_name),
            list("gen_ai.response.finish_reasons", reason),
        ]);
        let tokens = (turn.input_tokens, turn.cached_input_tokens, turn.output_tokens);
        span.attributes.extend(usage(tokens));
        self.spans.push(span);
    }

    fn request_ended(&mut self, event: &'a Event, request: &ModelRequestCompleted) {
        let took = i64::try_from(request.latency_ms).unwrap_or(i64::MAX);
        let times = (event.time_ms.saturating_sub(took), event.time_ms);
        let mut span = self.chat(&event.id, &request.model_name, request.provider.as_deref(), times);
        span.attributes.push(text("autonous.purpose", &request.purpose));
        let tokens = (request.input_tokens, request.cached_input_tokens, request.output_tokens);
        span.attributes.extend(usage(tokens));
        self.spans.push(span);
    }

    fn request_failed(&mut self, turn: Option<&'a EventId>, time_ms: i64, failed: &RequestFailed) {
        let Some(turn) = turn else { return };
        self.failures.entry(turn).or_default().push(SpanEvent {
            time_unix_nano: nanoseconds(time_ms),
            name: "request.failed".to_owned(),
            attributes: vec![text(ERROR_TYPE, &failed.error_class), text("error.message", &failed.error)],
            dropped_attributes_count: 0,
        });
    }

    fn call_ended(&mut self, start: Option<&EventId>, time_ms: i64, end: Result<&CallEnded, &str>) {
        let Some((id, (started, began))) = start.and_then(|start| self.calls.remove_entry(start)) else {
            return;
        };
        let mut span = self.call(id, started, (began, time_ms));
        match end {
            Ok(end) => {
                if let Some(failure) = &end.failure {
                    span.status = failed(&failure.error);
                    span.attributes.push(text(ERROR_TYPE, &failure.error_code));
                }
                span.attributes.extend(self.content("gen_ai.tool.call.result", || end.output_text.clone()));
            }
            Err(error) => span.status = failed(error),
        }
        self.spans.push(span);
    }

    fn decided(&mut self, (approval, tool): (&EventId, &str), decision: &str, time_ms: i64) {
        let Some(began) = self.approvals.remove(approval) else { return };
        let name = format!("approval {tool}");
        let mut span = self.span(approval.as_str(), &name, (began, time_ms), SpanKind::Internal);
        span.attributes = vec![text("gen_ai.tool.name", tool), text("autonous.approval.decision", decision)];
        self.spans.push(span);
    }

    /// Ends with the task what has no end of its own.
    fn close(&mut self, end_ms: i64) {
        for (turn, (started, began)) in std::mem::take(&mut self.turns) {
            let mut span = self.chat(turn, &started.model_name, None, (began, end_ms));
            span.status = failed("there is no reply");
            self.spans.push(span);
        }
        for (call, (started, began)) in std::mem::take(&mut self.calls) {
            let mut span = self.call(call, started, (began, end_ms));
            span.status = failed("the end of the call is not known");
            self.spans.push(span);
        }
    }

    fn chat(&mut self, request: &EventId, model: &str, provider: Option<&str>, times: (i64, i64)) -> Span {
        let mut span = self.span(request.as_str(), &format!("chat {model}"), times, SpanKind::Client);
        span.attributes = vec![text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", model)];
        span.attributes.extend(provider.map(|provider| text("gen_ai.provider.name", provider)));
        span.events = self.failures.remove(request).unwrap_or_default();
        span
    }

    fn call(&self, call: &EventId, started: &CallStarted, times: (i64, i64)) -> Span {
        let name = format!("execute_tool {}", started.tool_name);
        let mut span = self.span(call.as_str(), &name, times, SpanKind::Internal);
        span.attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &started.tool_name),
            text("gen_ai.tool.type", "function"),
            text("gen_ai.tool.call.id", call.as_str()),
        ];
        let arguments = || serde_json::to_string(&started.arguments).unwrap_or_default();
        span.attributes.extend(self.content("gen_ai.tool.call.arguments", arguments));
        span
    }

    /// What a call was given or gave, if that is wanted. It is redacted as in the events.
    fn content(&self, key: &str, value: impl FnOnce() -> String) -> Option<KeyValue> {
        self.has_content.then(|| text(key, &value()))
    }

    /// A span below the task's own.
    fn span(&self, of: &str, name: &str, (start_ms, end_ms): (i64, i64), kind: SpanKind) -> Span {
        Span {
            trace_id: self.trace_id.to_vec(),
            span_id: id::<8>(of).to_vec(),
            parent_span_id: self.root.clone(),
            name: name.to_owned(),
            kind: kind.into(),
            start_time_unix_nano: nanoseconds(start_ms),
            end_time_unix_nano: nanoseconds(end_ms.max(start_ms)),
            ..Span::default()
        }
    }
}

fn usage((input, cached, output): (u64, u64, u64)) -> [KeyValue; 3] {
    [
        number("gen_ai.usage.input_tokens", input),
        number("gen_ai.usage.cache_read.input_tokens", cached),
        number("gen_ai.usage.output_tokens", output),
    ]
}
