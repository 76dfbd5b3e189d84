//! Fits a conversation into the model's window: a pure function over messages.
//!
//! Nothing changes while everything fits. Otherwise more is removed than needed, down to a target well
//! below the limit, so that the next turns only append and the provider's prefix cache holds. Old images
//! leave first, then old results are shortened, then whole turns are dropped, oldest first. The task's own
//! request is never dropped or cut, and a call is never separated from its results.

mod estimate;

use std::ops::Range;

use protocol::ToolSpec;

use crate::model::{Message, Picture, Request};
use crate::untrusted;

pub(crate) use estimate::{bytes_of, tokens_of_bytes, tokens_of_text};

/// The overhead of a message or a call, in tokens.
const OVERHEAD_TOKENS: usize = 8;

/// The words around an image, in tokens.
const IMAGE_WORDS_TOKENS: usize = 30;

/// The size of a shortened old result.
const OLD_RESULT_BYTES: usize = 600;

/// The share of the limit that one result may take, as a divisor.
const RESULT_SHARE: usize = 4;

/// The room for messages, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBounds {
    /// The most that all messages may take.
    pub limit: usize,
}

/// A conversation that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The messages, in their order.
    pub messages: Vec<Message>,
    /// Where the pinned messages are now.
    pub pinned: Range<usize>,
    /// How many results were shortened, and images taken away.
    pub shortened: usize,
    /// How many messages before the pinned ones were dropped.
    pub dropped_before: usize,
    /// The dropped messages after the pinned ones, in their order.
    pub dropped: Vec<Message>,
    /// The size of all messages, in tokens.
    pub tokens: usize,
}

/// The pinned messages alone exceed the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTooLarge {
    /// Their size, in tokens.
    pub tokens: usize,
}

impl WindowBounds {
    /// The size that fitting goes down to once it is needed.
    pub fn target(self) -> usize {
        self.limit / 10 * 7
    }

    /// The most bytes that one result may take.
    pub fn result_bytes(self) -> usize {
        bytes_of(self.limit / RESULT_SHARE)
    }
}

pub(crate) fn tokens_of_request(request: &Request<'_>) -> usize {
    let messages = request.messages.iter().map(tokens_of);
    fixed_tokens(request.system, request.tools) + messages.sum::<usize>()
}

/// The size of the prompt and the tools, in tokens.
pub(crate) fn fixed_tokens(system: &str, tools: &[ToolSpec]) -> usize {
    let size = |tool: &ToolSpec| {
        let schema = tokens_of_text(&tool.input_schema.to_string());
        tokens_of_text(&tool.name) + tokens_of_text(&tool.description) + schema
    };
    tokens_of_text(system) + tools.iter().map(size).sum::<usize>()
}

pub(crate) fn tokens_of(message: &Message) -> usize {
    match message {
        Message::User(text) => OVERHEAD_TOKENS + tokens_of_text(text),
        Message::Image(image) => {
            let picture = image.picture.as_deref().map_or(0, Picture::tokens);
            OVERHEAD_TOKENS + IMAGE_WORDS_TOKENS + tokens_of_text(&image.name) + picture
        }
        Message::ToolResult { call_id, text } => {
            OVERHEAD_TOKENS + tokens_of_text(call_id) + tokens_of_text(text)
        }
        Message::Assistant { text, calls, reasoning } => {
            let reasoning = reasoning.as_ref().map_or(0, |reasoning| tokens_of_bytes(reasoning.bytes));
            let calls = calls.iter().map(|call| {
                OVERHEAD_TOKENS
                    + tokens_of_text(&call.id)
                    + tokens_of_text(&call.name)
                    + tokens_of_text(&call.arguments)
            });
            OVERHEAD_TOKENS + tokens_of_text(text) + reasoning + calls.sum::<usize>()
        }
    }
}

/// Fits messages into the bounds. `pinned` are those of the task's own request; before them is the chat's
/// history, after them the task's turns.
pub fn fit(
    messages: Vec<Message>,
    pinned: Range<usize>,
    bounds: WindowBounds,
) -> Result<Fitted, RequestTooLarge> {
    let mut fitting = Fitting::new(messages, pinned);
    if fitting.tokens > bounds.limit {
        let pinned_tokens: usize = fitting.sizes[fitting.pinned.clone()].iter().sum();
        if pinned_tokens > bounds.limit {
            return Err(RequestTooLarge { tokens: pinned_tokens });
        }
        fitting.remove_old_images(bounds.target());
        fitting.shorten_old_results(bounds.target());
        fitting.drop_old_units(bounds.target());
        fitting.shorten_newest(bounds.limit);
    }
    Ok(fitting.fitted())
}

struct Fitting {
    messages: Vec<Message>,
    sizes: Vec<usize>,
    kept: Vec<bool>,
    pinned: Range<usize>,
    units: Vec<Range<usize>>,
    tokens: usize,
    shortened: usize,
}

impl Fitting {
    fn new(messages: Vec<Message>, pinned: Range<usize>) -> Self {
        let sizes: Vec<usize> = messages.iter().map(tokens_of).collect();
        let (tokens, kept) = (sizes.iter().sum(), vec![true; messages.len()]);
        let units = units(&messages, &pinned);
        Self { messages, sizes, kept, pinned, units, tokens, shortened: 0 }
    }

    /// The task's newest turn, to which the model reacts next.
    fn newest(&self) -> Option<Range<usize>> {
        self.units.last().filter(|unit| unit.start >= self.pinned.end).cloned()
    }

    fn remove_old_images(&mut self, target: usize) {
        let end = self.newest().map_or(self.messages.len(), |newest| newest.start);
        self.remove_images(0..end, target);
    }

    /// Takes images away, oldest first; the words in their place stay.
    fn remove_images(&mut self, range: Range<usize>, target: usize) {
        for index in range {
            if self.tokens <= target {
                return;
            }
            let Message::Image(image) = &mut self.messages[index] else { continue };
            if image.picture.take().is_some() {
                self.shortened += 1;
                self.measure(index);
            }
        }
    }

    fn measure(&mut self, index: usize) {
        self.tokens -= self.sizes[index];
        self.sizes[index] = tokens_of(&self.messages[index]);
        self.tokens += self.sizes[index];
    }

    fn shorten_old_results(&mut self, target: usize) {
        let end = self.newest().map_or(self.messages.len(), |newest| newest.start);
        for index in self.pinned.end..end {
            if self.tokens <= target {
                return;
            }
            self.shorten(index, OLD_RESULT_BYTES);
        }
    }

    fn drop_old_units(&mut self, target: usize) {
        let old = self.units.len() - usize::from(self.newest().is_some());
        for index in 0..old {
            if self.tokens <= target {
                return;
            }
            self.drop_unit(self.units[index].clone());
        }
    }

    /// Shortens the newest turn's results to equal shares of the room that is left; drops the turn if even
    /// that is too much, for instance because of a call with huge arguments.
    fn shorten_newest(&mut self, limit: usize) {
        let Some(newest) = self.newest().filter(|_| self.tokens > limit) else { return };
        self.remove_images(newest.clone(), limit);
        let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
        let results: Vec<usize> = newest.clone().filter(|index| is_result(&self.messages[*index])).collect();
        let taken: usize = results.iter().map(|index| self.sizes[*index]).sum();
        let room = limit.saturating_sub(self.tokens - taken) / results.len().max(1);
        for index in results {
            let Message::ToolResult { call_id, .. } = &self.messages[index] else { continue };
            let overhead = OVERHEAD_TOKENS + tokens_of_text(call_id) + 1;
            self.shorten_to(index, room.saturating_sub(overhead));
        }
        if self.tokens > limit {
            self.drop_unit(newest);
        }
    }

    /// Shortens a result to so many tokens: a dense text to fewer bytes.
    fn shorten_to(&mut self, index: usize, max_tokens: usize) {
        let Message::ToolResult { text, .. } = &self.messages[index] else { return };
        let mut max_bytes = bytes_of(max_tokens).min(text.len());
        while max_bytes > 0 {
            let tokens = tokens_of_text(&untrusted::shorten(text, max_bytes));
            if tokens <= max_tokens {
                break;
            }
            max_bytes = (max_bytes * max_tokens / tokens).min(max_bytes - max_bytes.div_ceil(16));
        }
        self.shorten(index, max_bytes);
    }

    fn shorten(&mut self, index: usize, max_bytes: usize) {
        let Message::ToolResult { text, .. } = &mut self.messages[index] else { return };
        let short = untrusted::shorten(text, max_bytes);
        if short.len() >= text.len() {
            return;
        }
        *text = short;
        self.shortened += 1;
        self.measure(index);
    }

    fn drop_unit(&mut self, unit: Range<usize>) {
        self.tokens -= self.sizes[unit.clone()].iter().sum::<usize>();
        self.kept[unit].fill(false);
    }

    fn fitted(self) -> Fitted {
        let dropped_before = self.kept[..self.pinned.start].iter().filter(|kept| !**kept).count();
        let pinned = self.pinned.start - dropped_before..self.pinned.end - dropped_before;
        let (mut messages, mut dropped) = (Vec::with_capacity(self.messages.len()), Vec::new());
        for (index, (message, is_kept)) in self.messages.into_iter().zip(self.kept).enumerate() {
            if is_kept {
                messages.push(message);
            } else if index >= self.pinned.end {
                dropped.push(message);
            }
        }
        Fitted { messages, pinned, shortened: self.shortened, dropped_before, dropped, tokens: self.tokens }
    }
}

/// The messages that are dropped together, oldest first: in the history a user's message with its answers, in
/// the task an assistant's message with all its results, or a note of the loop.
fn units(messages: &[Message], pinned: &Range<usize>) -> Vec<Range<usize>> {
    let begins = |index: usize| match &messages[index] {
        Message::User(_) => true,
        Message::Assistant { .. } => index >= pinned.end,
        Message::ToolResult { .. } | Message::Image(_) => false,
    };
    let mut units: Vec<Range<usize>> = Vec::new();
    for index in (0..pinned.start).chain(pinned.end..messages.len()) {
        let is_first = index == 0 || index == pinned.end;
        match units.last_mut().filter(|_| !is_first && !begins(index)) {
            Some(unit) => unit.end = index + 1,
            None => units.push(index..index + 1),
        }
    }
    units
}

#[cfg(test)]
mod tests;
