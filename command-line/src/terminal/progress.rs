//! What a task is doing, in one line for somebody who waits.

use std::time::Duration;

use protocol::event::{AgentFailed, AgentFailure, PlanCreated, PlanUpdated, RetryScheduled, Unreachable};
use protocol::{Event, EventBody, EventId, Plan};
use serde_json::{Map, Value};
use store::queries::short_id::shown;
use supervisor::age::short;

use super::width::{fitted, in_one_line};

/// Put together from a task's events, in their order.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    attempt: u32,
    turn: u32,
    tokens: u64,
    /// Where the task's plan stands, such as `[2/6]`.
    plan: Option<String>,
    /// The tool calls that run, by the IDs of their starts.
    running: Vec<(EventId, String)>,
    is_claimed: bool,
    /// The calls that wait for a person, by their approvals.
    asked: Vec<EventId>,
    /// The model's server, if the newest request could not reach it.
    unreachable: Option<Unreachable>,
}

impl Progress {
    pub(crate) fn take(&mut self, event: &Event) {
        self.note_reach(&event.body);
        match &event.body {
            EventBody::TaskClaimed(claimed) => {
                *self = Self {
                    attempt: claimed.attempt,
                    tokens: self.tokens,
                    plan: self.plan.take(),
                    unreachable: self.unreachable.take(),
                    is_claimed: true,
                    ..Self::default()
                };
            }
            EventBody::TaskQueued(_) | EventBody::RetryScheduled(RetryScheduled::Attempt { .. }) => {
                self.is_claimed = false;
                self.running.clear();
            }
            EventBody::TurnStarted(started) => self.turn = started.turn,
            EventBody::TurnCompleted(turn) => self.tokens += turn.input_tokens + turn.output_tokens,
            EventBody::ModelRequestCompleted(request) => {
                self.tokens += request.input_tokens + request.output_tokens;
            }
            EventBody::PlanCreated(PlanCreated { plan })
            | EventBody::PlanUpdated(PlanUpdated { plan, .. }) => {
                self.plan = Some(in_one_line(&step(plan)));
            }
            EventBody::ToolCallStarted(started) => {
                let call = &started.call;
                let shown = in_one_line(&format!("{} {}", call.tool_name, words(&call.arguments)));
                self.running.push((event.id.clone(), shown));
            }
            EventBody::ToolCallCompleted(_)
            | EventBody::ToolCallFailed(_)
            | EventBody::ToolCallInterrupted(_) => {
                self.running.retain(|(id, _)| Some(id) != event.parent_id.as_ref());
            }
            EventBody::TaskParked(_) => self.running.clear(),
            EventBody::ApprovalRequested(asked) => self.asked.push(asked.approval_id.clone()),
            EventBody::ApprovalGranted(decided) => self.decided(&decided.approval_id),
            EventBody::ApprovalDenied(decided) => self.decided(&decided.approval_id),
            EventBody::ApprovalExpired(expired) => self.decided(&expired.approval_id),
            _ => {}
        }
    }

    /// Notes whether the model's server could be reached.
    fn note_reach(&mut self, body: &EventBody) {
        match body {
            EventBody::RetryScheduled(RetryScheduled::Request { failed, .. }) => {
                self.unreachable.clone_from(&failed.unreachable);
            }
            EventBody::AgentFailed(AgentFailed {
                failure: AgentFailure::Error { unreachable, .. }, ..
            }) => {
                self.unreachable.clone_from(unreachable);
            }
            EventBody::TurnCompleted(_) | EventBody::ModelRequestCompleted(_) => self.unreachable = None,
            _ => {}
        }
    }

    fn decided(&mut self, approval: &EventId) {
        self.asked.retain(|asked| asked != approval);
    }

    /// The first call that waits for a person, by its approval.
    pub(crate) fn asked(&self) -> Option<&EventId> {
        self.asked.first()
    }

    /// The model's server, if the newest request could not reach it.
    pub(crate) fn unreachable(&self) -> Option<&Unreachable> {
        self.unreachable.as_ref()
    }

    /// The line, at most `columns` wide.
    pub(crate) fn line(&self, waited: Duration, columns: usize) -> String {
        let mut parts = vec![short(waited)];
        if self.attempt > 1 {
            parts.push(format!("attempt {}", self.attempt));
        }
        if self.turn > 0 {
            parts.push(format!("turn {}", self.turn));
        }
        parts.extend(self.plan.clone());
        if self.tokens > 0 {
            parts.push(format!("{} tokens", self.tokens));
        }
        if let Some(asked) = self.asked.first() {
            let short = shown(asked.as_str());
            parts.push(format!("waits for a decision: supervisor approve {short}, or deny {short}"));
            return fitted(&parts.join(" · "), columns);
        }
        parts.push(match (self.is_claimed, self.running.as_slice()) {
            (_, []) if self.unreachable.is_some() => "waiting for the model".to_owned(),
            (false, _) => "waiting".to_owned(),
            (true, []) => "thinking".to_owned(),
            (true, [(_, call)]) => call.clone(),
            (true, [.., (_, call)]) => format!("{} calls, {call}", self.running.len()),
        });
        fitted(&parts.join(" · "), columns)
    }
}

/// The step that a plan is at.
fn step(plan: &Plan) -> String {
    match plan.current() {
        Some((number, current)) => format!("step {number}/{}: {}", plan.steps.len(), current.step),
        None => plan.recap(),
    }
}

/// The arguments as somebody would say them.
fn words(arguments: &Map<String, Value>) -> String {
    let word = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    };
    arguments.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn event(id: &str, parent: Option<&str>, event_type: &str, payload: Value) -> Event {
        Event {
            id: id.parse().unwrap(),
            parent_id: parent.map(|parent| parent.parse().unwrap()),
            task_id: None,
            body: EventBody::new(event_type.to_owned(), payload),
            time_ms: 0,
        }
    }

    #[test]
    fn the_line_says_what_runs_and_what_it_took() {
        let mut progress = Progress::default();
        let shown = |progress: &Progress| progress.line(Duration::from_secs(75), 60);
        assert_eq!(shown(&progress), "1m · waiting");
        progress.take(&event("c", None, "task.claimed", json!({"attempt": 2})));
        assert_eq!(shown(&progress), "1m · attempt 2 · thinking");
        progress.take(&event("t", None, "turn.started", json!({"turn": 3, "model_name": "m"})));
        let used = json!({"model_name": "m", "latency_ms": 1, "input_tokens": 1200, "cached_input_tokens": 0,
                          "output_tokens": 34, "tool_calls": 2, "cut": false});
        progress.take(&event("u", None, "turn.completed", used));
        for (id, cmd) in
            [("a", "cargo test"), ("b", "echo \u{1b}[2J\n一二三四五六七八九十一二三四五六七八九十")]
        {
            let call =
                json!({"tool_name": "bash", "arguments": {"cmd": cmd}, "risk": "medium", "session_id": "s"});
            progress.take(&event(id, None, "tool_call.started", call));
        }
        assert!(shown(&progress).starts_with("1m · attempt 2 · turn 3 · 1234 tokens · 2 calls, bash cmd="));
        let ended = json!({"tool_name": "bash", "latency_ms": 1, "exit_code": 0, "truncated_lines": false,
                           "truncated_bytes": false, "output_text": "", "session_id": "s"});
        progress.take(&event("x", Some("b"), "tool_call.completed", ended));
        assert_eq!(shown(&progress), "1m · attempt 2 · turn 3 · 1234 tokens · bash cmd=cargo test");
    }

    #[test]
    fn the_step_of_the_plan_is_shown_over_attempts() {
        let mut progress = Progress::default();
        progress.take(&event("c", None, "task.claimed", json!({"attempt": 1})));
        let plan = |first: &str, second: &str| {
            json!({"summary": "", "risks": [], "questions": [], "completion": "", "steps": [
                {"step": "look", "status": first}, {"step": "sort", "status": second}]})
        };
        progress.take(&event("p", None, "plan.created", plan("in_progress", "pending")));
        assert_eq!(progress.line(Duration::ZERO, 60), "0s · step 1/2: look · thinking");
        let updated = json!({"step": 1, "status": "completed", "plan": plan("completed", "in_progress")});
        progress.take(&event("u", None, "plan.updated", updated));
        progress.take(&event("d", None, "task.claimed", json!({"attempt": 2})));
        assert_eq!(progress.line(Duration::ZERO, 60), "0s · attempt 2 · step 2/2: sort · thinking");
    }

    #[test]
    fn a_call_that_waits_for_a_person_is_shown_with_what_to_type() {
        let mut progress = Progress::default();
        progress.take(&event("c", None, "task.claimed", json!({"attempt": 1})));
        let asked = json!({"approval_id": "0197a2a0-0000-7000-8000-0000000000ab", "tool_name": "write",
                           "risk": "medium", "arguments": {}, "preview": "", "reason": "", "rule": "",
                           "token": "", "digest": "", "expires_at_ms": 1, "session": "s"});
        progress.take(&event("a", None, "approval.requested", asked));
        let line = progress.line(Duration::from_secs(5), 100);
        assert!(line.contains("supervisor approve 000000ab"), "{line}");
        let denied = json!({"approval_id": "0197a2a0-0000-7000-8000-0000000000ab", "tool_name": "write",
                            "session": "s"});
        progress.take(&event("d", None, "approval.denied", denied));
        assert!(progress.line(Duration::from_secs(5), 100).contains("thinking"));
    }

    #[test]
    fn nothing_in_the_line_steers_the_terminal_and_it_is_never_wider() {
        let mut progress = Progress::default();
        progress.take(&event("c", None, "task.claimed", json!({"attempt": 1})));
        let cmd = "\u{1b}[2J\r\n\u{202e}一二三四五六七八九十".repeat(9);
        let call = json!({"tool_name": "bash", "arguments": {"cmd": cmd},
                          "risk": "medium", "session_id": "s"});
        progress.take(&event("a", None, "tool_call.started", call));
        for columns in 0..100 {
            let line = progress.line(Duration::ZERO, columns);
            assert!(
                super::super::width::of(&line) <= columns && !line.contains(char::is_control),
                "{line:?}"
            );
        }
    }
}
