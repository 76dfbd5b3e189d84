//! A reply under construction from what a provider sends, event by event or in one body.
//!
//! Each provider has its own events; they share when a reply is complete, what an error among them is, and
//! what a reply has to be. One that broke off never counts as complete, because its text or its arguments may
//! end anywhere.

use std::borrow::Cow;

use serde_json::Value;

use super::ProviderError;
use crate::model::{Origin, Reasoning, Reply, ToolCall, Usage};

/// More than any model writes in one reply; it still fits into a line as a result.
const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;

/// The mark at the end of some streams, which is no JSON. Builders get it as a text.
pub(in crate::model) const DONE: &str = "[DONE]";

pub(in crate::model) trait ReplyBuilder: Send {
    /// Adds an event. Not every server streams: a body that has the whole reply `is_whole`.
    fn add(&mut self, event: Value, is_whole: bool) -> Result<(), ReplyError>;

    fn stage(&self) -> ReplyStage;

    /// The text that has come so far.
    fn text(&self) -> Cow<'_, str>;

    /// What arrived; only called when it is complete.
    fn found(self: Box<Self>) -> Found;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum ReplyStage {
    /// Nothing has arrived: the model still reads or thinks.
    Pending,
    Started,
    /// All of it has arrived; only its usage may follow.
    Complete,
    /// Nothing will follow.
    Ended,
}

#[derive(Debug)]
pub(in crate::model) enum ReplyError {
    Invalid(String),
    Provider(ProviderError),
}

/// A whole reply as it arrived.
#[derive(Debug, Default)]
pub(in crate::model) struct Found {
    pub(in crate::model) text: String,
    /// With IDs and arguments that may be empty.
    pub(in crate::model) calls: Vec<ToolCall>,
    pub(in crate::model) ending: Ending,
    pub(in crate::model) usage: Usage,
    pub(in crate::model) reasoning: FoundReasoning,
}

/// How the model came to the end of its reply.
#[derive(Debug, Default)]
pub(in crate::model) enum Ending {
    #[default]
    Whole,
    Cut,
    /// The provider's content filter ended it, perhaps in the middle of a call.
    Filtered,
    Failed(String),
}

/// What has to go back with a reply.
#[derive(Debug, Default)]
pub(in crate::model) enum FoundReasoning {
    #[default]
    None,
    /// Beside its text and calls.
    Beside(Value),
    /// Instead of its text and calls, which it contains.
    Around(Value),
}

/// Adds the data of an event, or a whole body.
pub(super) fn add(builder: &mut dyn ReplyBuilder, data: &[u8], is_whole: bool) -> Result<(), ReplyError> {
    let data = data.trim_ascii();
    if data == DONE.as_bytes() {
        return builder.add(Value::from(DONE), is_whole);
    }
    let event: Value = serde_json::from_slice(data).map_err(ReplyError::invalid)?;
    match error_in(&event) {
        Some(error) => Err(ReplyError::Provider(ProviderError::in_reply(error))),
        None => builder.add(event, is_whole),
    }
}

/// The error object in an event, wherever a provider puts it.
fn error_in(event: &Value) -> Option<&Value> {
    let inside = [&event["error"], &event["response"]["error"]].into_iter().find(|error| !error.is_null());
    inside.or((event["type"] == "error").then_some(event))
}

/// Some counts of a usage report, by their places in it.
pub(in crate::model) fn usage(report: &Value, input: &[&str], cached: &str, output: &[&str]) -> Usage {
    // A malformed count must not fail the reply.
    let count = |place: &&str| report.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    let sum = |places: &[&str]| places.iter().map(count).fold(0, u64::saturating_add);
    Usage { input_tokens: sum(input), cached_input_tokens: count(&cached), output_tokens: sum(output) }
}

impl ReplyStage {
    pub(in crate::model) fn of(has_begun: bool, is_complete: bool, is_ended: bool) -> Self {
        match (is_ended, is_complete, has_begun) {
            (true, _, _) => Self::Ended,
            (false, true, _) => Self::Complete,
            (false, false, false) => Self::Pending,
            (false, false, true) => Self::Started,
        }
    }
}

impl ReplyError {
    pub(in crate::model) fn invalid(why: impl std::fmt::Display) -> Self {
        Self::Invalid(why.to_string())
    }
}

impl Found {
    /// The reply, whose reasoning will be for `origin`.
    pub(super) fn reply(self, origin: &Origin) -> Result<Reply, ReplyError> {
        let Self { text, calls, ending, usage, reasoning } = self;
        let mut reply = match ending {
            Ending::Whole => Reply { text, calls: usable(calls)?, ..Reply::default() },
            Ending::Cut => Reply { text, calls: usable(calls)?, cut: true, ..Reply::default() },
            Ending::Filtered => Reply::filtered(text),
            Ending::Failed(reason) => {
                return Err(ReplyError::Invalid(format!("the reply ended with {reason}")));
            }
        };
        reply.reasoning = match reasoning {
            FoundReasoning::None => None,
            FoundReasoning::Beside(content) => Some(Reasoning::beside(origin, content)),
            FoundReasoning::Around(content) => Some(Reasoning::around(&reply, origin, content)),
        };
        if size(&reply) > MAX_REPLY_BYTES {
            return Err(ReplyError::Invalid(format!("the reply is longer than {MAX_REPLY_BYTES} bytes")));
        }
        if reply.text.trim().is_empty() && reply.calls.is_empty() && !reply.cut {
            return Err(ReplyError::invalid("the reply has neither text nor tool calls"));
        }
        Ok(Reply { usage, ..reply })
    }
}

/// The calls, each with a name, an ID of its own and arguments.
fn usable(found: Vec<ToolCall>) -> Result<Vec<ToolCall>, ReplyError> {
    let mut calls: Vec<ToolCall> = Vec::with_capacity(found.len());
    for mut call in found {
        if call.name.trim_matches(['.', ' ']).is_empty() {
            return Err(ReplyError::Invalid(format!("a tool call has no usable name: {:?}", call.name)));
        }
        // The ID alone says which call a result belongs to.
        if call.id.is_empty() || calls.iter().any(|other| other.id == call.id) {
            call.id = format!("call_{}", calls.len());
        }
        // Several servers send this when there are no arguments.
        if call.arguments.trim().is_empty() {
            call.arguments = "{}".to_owned();
        }
        calls.push(call);
    }
    Ok(calls)
}

fn size(reply: &Reply) -> usize {
    let calls = reply.calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
    reply.text.len() + calls.sum::<usize>() + reply.reasoning.as_ref().map_or(0, |reasoning| reasoning.bytes)
}
