//! What a task has seen and written, kept while it waits for a person without a worker, so that it continues
//! with all of it.
//!
//! The prompt and the tools are no part of it: they are those of the attempt that continues.

use std::ops::Range;

use protocol::{Addition, MAX_LINE_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compaction_note::CompactionNote;
use crate::model::Message;

/// The most that is kept, in bytes of JSON: the line of a task has the calls and the chat's history as well.
const MAX_BYTES: usize = MAX_LINE_BYTES / 8 * 5;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transcript {
    pub(crate) messages: Vec<Message>,
    /// The messages of the task's own request.
    pub(crate) pinned: Range<usize>,
    pub(crate) note: Option<CompactionNote>,
    /// What people added to the request and the model has read.
    #[serde(default)]
    pub(crate) additions: Vec<Addition>,
}

impl Transcript {
    /// As it is kept. Pictures leave, the oldest first, where it would be too large; none if it still is.
    pub(crate) fn to_stored(&self) -> Option<Value> {
        let mut kept = self.clone();
        loop {
            let stored = serde_json::to_value(&kept).ok()?;
            if stored.to_string().len() <= MAX_BYTES {
                return Some(stored);
            }
            kept.messages.iter_mut().find_map(Message::shown_image)?.picture = None;
        }
    }

    /// What was kept; none if it cannot be read, for instance because another version wrote it.
    pub(crate) fn from_stored(stored: &Value) -> Option<Self> {
        let read = Self::deserialize(stored);
        let read = read.inspect_err(|error| tracing::warn!(%error, "cannot read a kept conversation"));
        read.ok()
            .filter(|Self { messages, pinned, .. }| pinned.start < pinned.end && pinned.end <= messages.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::{Image, Origin, Picture, Reasoning, ToolCall};

    fn image(name: &str, bytes: usize) -> Message {
        let base64 = "A".repeat(bytes);
        let picture = Picture { media_type: "image/png", base64, width: 3, height: 4 };
        Message::Image(Image { name: name.into(), picture: Some(Arc::new(picture)) })
    }

    fn transcript(more: impl IntoIterator<Item = Message>) -> Transcript {
        let reasoning = Reasoning::beside(&Origin::new("u", "m"), json!({"signature": "s"}));
        let calls = vec![ToolCall::new("1", "read", "{\"path\":")];
        let mut messages = vec![
            Message::assistant("before", Vec::new()),
            Message::User("go".into()),
            Message::Assistant { text: "so".into(), calls, reasoning: Some(reasoning) },
            Message::ToolResult { call_id: "1".into(), text: "exit 0\n\u{1b}x".into() },
        ];
        messages.extend(more);
        Transcript {
            messages,
            pinned: 1..2,
            note: Some(CompactionNote::new("a summary".into())),
            additions: Vec::new(),
        }
    }

    #[test]
    fn all_of_it_comes_back() {
        let whole = transcript([image("a.png", 10)]);
        assert!(!format!("{whole:?}").contains("AAAA"), "a picture reaches no log");
        assert_eq!(Transcript::from_stored(&whole.to_stored().unwrap()), Some(whole));
    }

    #[test]
    fn what_does_not_fit_into_a_line_goes_without_its_oldest_pictures() {
        let half = MAX_BYTES / 2;
        let (old, new) = (image("old", half), image("new", half));
        let stored = transcript([old, new.clone()]).to_stored().unwrap();
        let gone = Message::Image(Image { name: "old".into(), picture: None });
        assert_eq!(Transcript::from_stored(&stored), Some(transcript([gone, new])));
        assert_eq!(transcript([Message::User("x".repeat(MAX_BYTES))]).to_stored(), None);
    }

    #[test]
    fn what_cannot_be_read_is_none() {
        let mut outside = transcript([]);
        outside.pinned = 3..9;
        for stored in [json!({}), json!({"messages": [{"Poem": 1}]}), outside.to_stored().unwrap()] {
            assert_eq!(Transcript::from_stored(&stored), None, "{stored}");
        }
    }
}
