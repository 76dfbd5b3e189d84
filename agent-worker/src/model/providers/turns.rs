//! A conversation as turns of two roles, for protocols in which they alternate, the user begins and no text
//! is empty.

use serde_json::{Value, json};

/// Inserted before a conversation that begins with the model's message.
const EARLIER: &str = "(The conversation began earlier.)";

/// The turns under construction: parts by role.
pub(super) struct Turns {
    turns: Vec<(&'static str, Vec<Value>)>,
    /// A text as a part.
    text: fn(&str) -> Value,
}

impl Turns {
    pub(super) fn new(text: fn(&str) -> Value) -> Self {
        Self { turns: Vec::new(), text }
    }

    pub(super) fn push_text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, (self.text)(text));
        }
    }

    pub(super) fn push(&mut self, role: &'static str, part: Value) {
        if self.turns.is_empty() && role != "user" {
            self.push_text("user", EARLIER);
        }
        match self.turns.last_mut() {
            Some((last, parts)) if *last == role => parts.push(part),
            _ => self.turns.push((role, vec![part])),
        }
    }

    /// The parts of each turn, for a last change.
    pub(super) fn parts(&mut self) -> impl DoubleEndedIterator<Item = &mut Vec<Value>> {
        self.turns.iter_mut().map(|(_, parts)| parts)
    }

    /// All turns, whose parts have this name.
    pub(super) fn finish(self, name: &str) -> Value {
        self.turns.into_iter().map(|(role, parts)| json!({"role": role, name: parts})).collect()
    }
}
