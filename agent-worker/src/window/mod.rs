//! Fitting a conversation into the model's window: a pure function over messages, with no clock or model.
//!
//! Nothing is touched while everything fits. When it does not, more is taken away than needed, down to a
//! target well below the limit, so that the next turns only append and a provider's cache of the prefix
//! holds. Old results are shortened first, then whole turns are dropped, oldest first. What belongs to the
//! task's own request is never dropped or cut, and a call is never parted from its results.

use std::ops::Range;

use crate::model::Message;
use crate::untrusted;

/// How many bytes are taken for a token. Code and most languages need more; too many small requests are
/// cheaper than one that is refused.
const BYTES_PER_TOKEN: usize = 3;

/// What a message or a call costs beside its text, in tokens.
const TOKENS_AROUND: usize = 8;

/// How many bytes of an old result stay.
const OLD_RESULT_BYTES: usize = 600;

/// The part of the limit that one result may take, as a divisor.
const RESULT_SHARE: usize = 4;

/// Where fitting begins, and where it may end, in tokens.
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
    /// How many results were shortened.
    pub shortened: usize,
    /// How many messages before the pinned ones were dropped.
    pub dropped_before: usize,
    /// The messages after the pinned ones that were dropped, in their order.
    pub lost: Vec<Message>,
    /// What all messages take, in tokens.
    pub tokens: usize,
}

/// The pinned messages alone take more than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTooLarge {
    /// What they take, in tokens.
    pub tokens: usize,
}

impl WindowBounds {
    /// What fitting goes down to once it has begun.
    pub fn target(self) -> usize {
        self.limit / 10 * 7
    }

    /// The most bytes that one result may take.
    pub fn result_bytes(self) -> usize {
        self.limit / RESULT_SHARE * BYTES_PER_TOKEN
    }
}

/// What a text takes, in tokens; an estimate.
pub fn tokens_of_text(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// How many bytes so many tokens are; an estimate.
pub fn bytes_of(tokens: usize) -> usize {
    tokens.saturating_mul(BYTES_PER_TOKEN)
}

/// What a message takes, in tokens; an estimate.
pub fn tokens_of(message: &Message) -> usize {
    match message {
        Message::User(text) => TOKENS_AROUND + tokens_of_text(text.len()),
        Message::ToolResult { call_id, text } => TOKENS_AROUND + tokens_of_text(call_id.len() + text.len()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| {
                TOKENS_AROUND + tokens_of_text(call.id.len() + call.name.len() + call.arguments.len())
            });
            TOKENS_AROUND + tokens_of_text(text.len()) + calls.sum::<usize>()
        }
    }
}

/// Fits messages into the bounds. `pinned` are those of the task's own request; before them is the past of
/// the chat, after them the task's own turns.
pub fn fit(
    messages: Vec<Message>,
    pinned: Range<usize>,
    bounds: WindowBounds,
) -> Result<Fitted, RequestTooLarge> {
    let mut work = Work::new(messages, pinned);
    if work.tokens > bounds.limit {
        let pinned_tokens: usize = work.costs[work.pinned.clone()].iter().sum();
        if pinned_tokens > bounds.limit {
            return Err(RequestTooLarge { tokens: pinned_tokens });
        }
        work.shorten_old_results(bounds.target());
        work.drop_old_units(bounds.target());
        work.squeeze_newest(bounds.limit);
    }
    Ok(work.fitted())
}

/// Messages, what each takes, and which are still there.
struct Work {
    messages: Vec<Message>,
    costs: Vec<usize>,
    stays: Vec<bool>,
    pinned: Range<usize>,
    units: Vec<Range<usize>>,
    tokens: usize,
    shortened: usize,
}

impl Work {
    fn new(messages: Vec<Message>, pinned: Range<usize>) -> Self {
        let costs: Vec<usize> = messages.iter().map(tokens_of).collect();
        let (tokens, stays) = (costs.iter().sum(), vec![true; messages.len()]);
        let units = units(&messages, &pinned);
        Self { messages, costs, stays, pinned, units, tokens, shortened: 0 }
    }

    /// The task's newest turn: what the model has to react to next.
    fn newest(&self) -> Option<Range<usize>> {
        self.units.last().filter(|unit| unit.start >= self.pinned.end).cloned()
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

    /// Shortens the newest turn's results to equal shares of what is left; drops it where even that is
    /// too much, such as for a call with huge arguments.
    fn squeeze_newest(&mut self, limit: usize) {
        let Some(newest) = self.newest().filter(|_| self.tokens > limit) else { return };
        let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
        let results: Vec<usize> = newest.clone().filter(|index| is_result(&self.messages[*index])).collect();
        let taken: usize = results.iter().map(|index| self.costs[*index]).sum();
        let room = limit.saturating_sub(self.tokens - taken) / results.len().max(1);
        for index in results {
            let Message::ToolResult { call_id, .. } = &self.messages[index] else { continue };
            let around = TOKENS_AROUND + tokens_of_text(call_id.len()) + 1;
            self.shorten(index, bytes_of(room.saturating_sub(around)));
        }
        if self.tokens > limit {
            self.drop_unit(newest);
        }
    }

    fn shorten(&mut self, index: usize, max_bytes: usize) {
        let Message::ToolResult { text, .. } = &mut self.messages[index] else { return };
        let short = untrusted::shorten(text, max_bytes);
        if short.len() >= text.len() {
            return;
        }
        *text = short;
        self.shortened += 1;
        self.tokens -= self.costs[index];
        self.costs[index] = tokens_of(&self.messages[index]);
        self.tokens += self.costs[index];
    }

    fn drop_unit(&mut self, unit: Range<usize>) {
        self.tokens -= self.costs[unit.clone()].iter().sum::<usize>();
        self.stays[unit].fill(false);
    }

    fn fitted(self) -> Fitted {
        let dropped_before = self.stays[..self.pinned.start].iter().filter(|stays| !**stays).count();
        let pinned = self.pinned.start - dropped_before..self.pinned.end - dropped_before;
        let (mut messages, mut lost) = (Vec::with_capacity(self.messages.len()), Vec::new());
        for (index, (message, stays)) in self.messages.into_iter().zip(self.stays).enumerate() {
            if stays {
                messages.push(message);
            } else if index >= self.pinned.end {
                lost.push(message);
            }
        }
        Fitted { messages, pinned, shortened: self.shortened, dropped_before, lost, tokens: self.tokens }
    }
}

/// What is dropped together, oldest first: in the past a message of the person with the answers to it, in
/// the task an assistant's message with all of its results, or a note of the loop.
fn units(messages: &[Message], pinned: &Range<usize>) -> Vec<Range<usize>> {
    let begins = |index: usize| match &messages[index] {
        Message::User(_) => true,
        Message::Assistant { .. } => index >= pinned.end,
        Message::ToolResult { .. } => false,
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
