//! A chat completion from the chunks of a stream or from one body, which has a `message` where a chunk has a
//! `delta`.
//!
//! Servers differ in small ways, all of which are accepted: null for an empty field, arguments as an object
//! instead of a string, calls without an ID or an index, content in parts. The arguments of a call are joined
//! as text and never parsed.

use std::borrow::Cow;

use serde_json::Value;

use super::reasoning::Collected;
use crate::model::ToolCall;
use crate::model::endpoint::{
    DONE, Ending, Found, FoundReasoning, ReplyBuilder, ReplyError, ReplyStage, usage,
};

#[derive(Default)]
pub(super) struct CompletionBuilder {
    text: String,
    calls: Vec<Partial>,
    reasoning: Collected,
    finish_reason: Option<String>,
    usage: Value,
    is_done: bool,
}

/// A call whose pieces still arrive.
struct Partial {
    index: Option<u64>,
    call: ToolCall,
    /// What a server added to it; Google puts the signature of its thoughts here.
    extra: Value,
}

impl ReplyBuilder for CompletionBuilder {
    fn add(&mut self, mut event: Value, is_whole: bool) -> Result<(), ReplyError> {
        self.is_done |= is_whole || event == DONE;
        let choices = event["choices"].as_array().map_or(&[][..], Vec::as_slice);
        if is_whole && choices.is_empty() {
            return Err(ReplyError::invalid("the reply has no choice"));
        }
        // We only ask for one choice.
        if let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            self.add_content(&choice["delta"], is_whole);
            self.add_content(&choice["message"], is_whole);
            let reason = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty());
            self.finish_reason = reason.map(str::to_owned).or(self.finish_reason.take());
        }
        if event["usage"].is_object() {
            self.usage = event["usage"].take();
        }
        Ok(())
    }

    fn stage(&self) -> ReplyStage {
        // Without the reasoning: while the model thinks, it may pause for long.
        let has_begun = !self.text.is_empty() || !self.calls.is_empty();
        ReplyStage::of(has_begun, self.finish_reason.is_some(), self.is_done)
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.text)
    }

    fn found(self: Box<Self>) -> Found {
        let ending = match self.finish_reason.as_deref() {
            Some("content_filter") => Ending::Filtered,
            Some("error") => Ending::Failed("an error".to_owned()),
            Some("length") => Ending::Cut,
            Some(_) | None => Ending::Whole,
        };
        let (calls, extras) = self.calls.into_iter().map(|partial| (partial.call, partial.extra)).unzip();
        let reasoning = self.reasoning.finish(extras);
        Found {
            text: self.text,
            calls,
            ending,
            usage: usage(
                &self.usage,
                &["/prompt_tokens"],
                "/prompt_tokens_details/cached_tokens",
                &["/completion_tokens"],
            ),
            reasoning: reasoning.map_or(FoundReasoning::None, FoundReasoning::Beside),
        }
    }
}

impl CompletionBuilder {
    fn add_content(&mut self, content: &Value, is_whole: bool) {
        match &content["content"] {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => self.text.extend(parts.iter().filter_map(|part| part["text"].as_str())),
            _ => {}
        }
        self.text.push_str(content["refusal"].as_str().unwrap_or_default());
        for (place, piece) in (0..).zip(content["tool_calls"].as_array().into_iter().flatten()) {
            self.add_call(if is_whole { Some(place) } else { piece["index"].as_u64() }, piece);
        }
        self.reasoning.add(content);
    }

    fn add_call(&mut self, index: Option<u64>, piece: &Value) {
        let function = &piece["function"];
        let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (id, name, extra) = (field(&piece["id"]), field(&function["name"]), &piece["extra_content"]);
        match self.continued_by(index, &id, &name) {
            Some(Partial { call, extra: known, .. }) => {
                call.arguments.push_str(&arguments);
                for (known, new) in [(&mut call.id, id), (&mut call.name, name)] {
                    if known.is_empty() {
                        *known = new;
                    }
                }
                if !extra.is_null() {
                    *known = extra.clone();
                }
            }
            None => {
                let call = ToolCall { id, name, arguments };
                self.calls.push(Partial { index, call, extra: extra.clone() });
            }
        }
    }

    /// The call that a piece continues; none when it begins one. A piece belongs to the call with its index,
    /// or to the last call if it has none. One with a name and another ID begins a new call even so: some
    /// servers give every call the index 0.
    fn continued_by(&mut self, index: Option<u64>, id: &str, name: &str) -> Option<&mut Partial> {
        let known = match index {
            Some(_) => self.calls.iter_mut().rfind(|known| known.index == index),
            None => self.calls.last_mut(),
        }?;
        let has_other_id = !id.is_empty() && !known.call.id.is_empty() && id != known.call.id;
        let has_no_place = index.is_none() && id.is_empty() && !known.call.name.is_empty();
        let begins = !name.is_empty() && (has_other_id || has_no_place);
        (!begins).then_some(known)
    }
}
