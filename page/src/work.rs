//! What a task's events say of the work on it: its attempts, their turns, and the calls in their time.

use protocol::event::{EventPayload as _, PlanCreated, PlanUpdated, RetryScheduled};
use protocol::{Event, EventBody, EventId, Plan};

/// The work on a task, in order.
#[derive(Debug, Default)]
pub struct Work {
    pub attempts: Vec<Attempt>,
    pub plan: Option<Plan>,
}

/// One attempt of a worker.
#[derive(Debug, Default)]
pub struct Attempt {
    pub number: u32,
    pub model: String,
    pub began_ms: i64,
    /// None while it lasts.
    pub ended_ms: Option<i64>,
    /// How it ended, in words.
    pub end: String,
    pub turns: Vec<Turn>,
    pub calls: Vec<Call>,
}

/// One request of the model, and what followed.
#[derive(Debug, Default)]
pub struct Turn {
    pub number: u32,
    pub model: String,
    pub began_ms: i64,
    /// How long the model took; none while it thinks.
    pub model_ms: Option<i64>,
    pub input_tokens: i64,
    pub cached_input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: Option<i64>,
    pub tool_calls: usize,
}

/// One tool call.
#[derive(Debug)]
pub struct Call {
    pub id: EventId,
    pub tool: String,
    pub began_ms: i64,
    /// None while it runs.
    pub ended_ms: Option<i64>,
    pub has_failed: bool,
}

impl Work {
    /// Reads a task's events, in their order.
    pub fn of(events: &[Event]) -> Self {
        let mut work = Self::default();
        events.iter().for_each(|event| work.take(event));
        work
    }

    pub fn input_tokens(&self) -> i64 {
        self.turns().map(|turn| turn.input_tokens).sum()
    }

    pub fn output_tokens(&self) -> i64 {
        self.turns().map(|turn| turn.output_tokens).sum()
    }

    /// None without prices.
    pub fn cost_micros(&self) -> Option<i64> {
        let known: Vec<i64> = self.turns().filter_map(|turn| turn.cost_micros).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }

    pub(crate) fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.attempts.iter().flat_map(|attempt| &attempt.turns)
    }

    fn take(&mut self, event: &Event) {
        let time_ms = event.time_ms;
        match &event.body {
            EventBody::TaskClaimed(claimed) => self.attempts.push(Attempt {
                number: claimed.attempt,
                began_ms: time_ms,
                end: "runs".to_owned(),
                ..Attempt::default()
            }),
            EventBody::PlanCreated(PlanCreated { plan })
            | EventBody::PlanUpdated(PlanUpdated { plan, .. }) => {
                self.plan = Some(plan.clone());
            }
            body => {
                let Some(attempt) = self.attempts.last_mut() else { return };
                attempt.take(event, time_ms);
                if let Some(end) = end_of(body) {
                    (attempt.ended_ms, attempt.end) = (Some(time_ms), end);
                }
            }
        }
    }
}

fn end_of(body: &EventBody) -> Option<String> {
    match body {
        EventBody::TaskDone(_) => Some("done".to_owned()),
        EventBody::TaskDead(dead) => Some(format!("failed: {}", dead.error)),
        EventBody::TaskCancelled(_) => Some("cancelled".to_owned()),
        EventBody::TaskParked(_) => Some("waits for a person".to_owned()),
        EventBody::RetryScheduled(RetryScheduled::Attempt { failed, .. }) => {
            Some(format!("failed: {}", failed.error))
        }
        _ => None,
    }
}

impl Attempt {
    fn take(&mut self, event: &Event, time_ms: i64) {
        match &event.body {
            EventBody::AgentStarted(started) => self.model.clone_from(&started.model_name),
            EventBody::TurnStarted(started) => self.turns.push(Turn {
                number: started.turn,
                model: started.model_name.clone(),
                began_ms: time_ms,
                ..Turn::default()
            }),
            EventBody::TurnCompleted(done) => {
                let Some(turn) = self.turns.last_mut() else { return };
                turn.model_ms = i64::try_from(done.latency_ms).ok();
                turn.model.clone_from(&done.model_name);
                turn.input_tokens = signed(done.input_tokens);
                turn.cached_input_tokens = signed(done.cached_input_tokens);
                turn.output_tokens = signed(done.output_tokens);
                turn.cost_micros = done.cost_micros.map(signed);
                turn.tool_calls = done.tool_calls;
            }
            EventBody::ToolCallStarted(started) => self.calls.push(Call {
                id: event.id.clone(),
                tool: started.call.tool_name.clone(),
                began_ms: time_ms,
                ended_ms: None,
                has_failed: false,
            }),
            body @ (EventBody::ToolCallCompleted(_)
            | EventBody::ToolCallFailed(_)
            | EventBody::ToolCallInterrupted(_)) => {
                let mut calls = self.calls.iter_mut().rev();
                let Some(call) = calls.find(|call| Some(&call.id) == event.parent_id.as_ref()) else {
                    return;
                };
                call.ended_ms = Some(time_ms);
                call.has_failed = protocol::event::ToolCallCompleted::of(body).is_none();
            }
            _ => {}
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(id: &str, parent: &str, kind: &str, time_ms: i64, payload: Value) -> Event {
        Event {
            id: id.parse().unwrap(),
            parent_id: parent.parse().ok(),
            task_id: None,
            body: EventBody::new(kind.to_owned(), payload),
            time_ms,
        }
    }

    #[test]
    fn attempts_have_their_turns_and_calls() {
        let started = json!({"tool_name": "ls", "arguments": {}, "risk": "low", "session_id": "s"});
        let turn = json!({"model_name": "m", "latency_ms": 30, "input_tokens": 100, "cached_input_tokens": 60,
            "output_tokens": 7, "tool_calls": 1, "cut": false, "cost_micros": 12});
        let work = Work::of(&[
            event("0", "", "turn.started", 1, json!({"turn": 1, "model_name": "m"})),
            event("a", "", "task.claimed", 10, json!({"attempt": 1})),
            event("b", "", "turn.started", 11, json!({"turn": 1, "model_name": "m"})),
            event("c", "b", "tool_call.started", 45, started),
            event("d", "c", "tool_call.interrupted", 60, json!({"tool_name": "ls", "error": "gone"})),
            event("e", "b", "turn.completed", 61, turn),
            event("f", "", "retry.scheduled", 70, json!({"attempt": 1, "error": "lost", "delay_ms": 5})),
            event("g", "", "task.claimed", 80, json!({"attempt": 2})),
        ]);
        let [first, second] = work.attempts.as_slice() else { panic!("{work:?}") };
        assert_eq!((first.end.as_str(), first.ended_ms), ("failed: lost", Some(70)));
        assert_eq!((first.turns.len(), first.turns[0].model_ms), (1, Some(30)));
        assert_eq!((first.calls[0].ended_ms, first.calls[0].has_failed), (Some(60), true));
        assert_eq!((second.end.as_str(), second.ended_ms), ("runs", None));
        assert_eq!((work.input_tokens(), work.output_tokens(), work.cost_micros()), (100, 7, Some(12)));
    }
}
