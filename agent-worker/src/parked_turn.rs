//! A turn with calls: one of a reply that has just come, or one in which an earlier attempt waited for a
//! person and that continues now. Data only.

use protocol::{CallState, Parked, ParkedCall, Spent, millis};
use serde::Deserialize as _;

use crate::budget::TaskUsage;
use crate::conversation::Conversation;
use crate::model::{Reasoning, Reply, ToolCall};
use crate::tool_client::{self, CallEnd};
use crate::untrusted;
use crate::wall_clock::WallClock;

/// What the model reads about a call without a decision.
const EXPIRED: &str = "exit 1 · APPROVAL_REQUIRED: The call needed the approval of a person, and nobody \
     decided in time. It was not run. Go on without it, or ask the user; the same call would ask again.";

pub(crate) struct CallTurn {
    pub(crate) text: String,
    /// The calls, with the record of each before.
    pub(crate) calls: Vec<(ToolCall, CallState)>,
    pub(crate) reasoning: Option<Reasoning>,
}

impl CallTurn {
    pub(crate) fn new(reply: Reply) -> Self {
        let Reply { text, calls, reasoning, .. } = reply;
        let begins = |call| (call, CallState::NotBegun { key: None });
        Self { text, calls: calls.into_iter().map(begins).collect(), reasoning }
    }

    pub(crate) fn of(parked: &Parked) -> Self {
        let calls = parked.calls.iter().map(|call| {
            let ParkedCall { id, tool_name, arguments, state } = call.clone();
            (ToolCall { id, name: tool_name, arguments }, state)
        });
        let reasoning = parked.reasoning.as_ref().and_then(|stored| Reasoning::deserialize(stored).ok());
        Self { text: parked.text.clone(), calls: calls.collect(), reasoning }
    }

    /// What another attempt continues with.
    pub(crate) fn park(
        self,
        ends: Vec<CallEnd>,
        conversation: &Conversation,
        usage: &TaskUsage,
        clock: &WallClock,
    ) -> Parked {
        let most = conversation.bounds().result_bytes();
        let calls = self.calls.into_iter().zip(ends).map(|((call, _), end)| {
            let ToolCall { id, name, arguments } = call;
            let state = match end {
                CallEnd::Open(CallState::NotBegun { key }) => {
                    CallState::NotBegun { key: key.or_else(|| Some(tool_client::new_key())) }
                }
                CallEnd::Open(state) => state,
                CallEnd::Answered(envelope) => {
                    let result = conversation.result_text(&envelope);
                    CallState::Answered { result: untrusted::shorten(&result, most) }
                }
            };
            ParkedCall { id, tool_name: name, arguments, state }
        });
        let spent = Spent {
            turns: usage.turns,
            wall_ms: millis(clock.elapsed()),
            input_tokens: usage.tokens.input_tokens,
            cached_input_tokens: usage.tokens.cached_input_tokens,
            output_tokens: usage.tokens.output_tokens,
            cost_micros: usage.cost_micros,
        };
        let reasoning = self.reasoning.and_then(|reasoning| serde_json::to_value(reasoning).ok());
        let conversation = conversation.transcript().to_stored();
        Parked { conversation, text: self.text, reasoning, calls: calls.collect(), spent }
    }
}

/// The result of a call that an earlier attempt ended, as the model reads it.
pub(crate) fn known_result(state: CallState) -> String {
    match state {
        CallState::Answered { result } => result,
        CallState::Expired | CallState::Waits { .. } | CallState::NotBegun { .. } => EXPIRED.to_owned(),
    }
}
