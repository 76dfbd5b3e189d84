//! When a chat is shown what the model writes, as far as it has come: as a draft where the channel has
//! drafts, else in the task's progress message.

use std::time::Duration;

use channel::formatting::{Entity, FormattedText, units};
use channel::sign::Progress;
use tokio::time::Instant;

use crate::words::Said;

/// From one draft to the next in a chat.
const BETWEEN_DRAFTS: Duration = Duration::from_millis(500);
/// Telegram shows a draft for thirty seconds.
const DRAFT_LASTS: Duration = Duration::from_secs(20);
/// So long after a draft, its chat sees that the task is at work.
const IS_GROWING: Duration = Duration::from_secs(3);
/// The most UTF-16 units of the words in a progress message.
pub(super) const MAX_UNITS_BESIDE_PROGRESS: usize = 1000;

/// The draft of a task in its chat.
#[derive(Debug, Default)]
pub(super) struct ShownDraft {
    /// The number of its text.
    number: u64,
    at: Option<Instant>,
    /// The chat takes none.
    pub(super) is_refused: bool,
}

impl ShownDraft {
    /// Whether a draft with this text is due.
    pub(super) fn is_due(&self, said: &Said, now: Instant) -> bool {
        let pause = if self.number == said.number { DRAFT_LASTS } else { BETWEEN_DRAFTS };
        !self.is_refused && self.at.is_none_or(|at| at + pause <= now)
    }

    /// Whether somebody sees words come.
    pub(super) fn is_growing(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| now < at + IS_GROWING)
    }

    /// When the newest began.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    pub(super) fn begun(&mut self, number: u64, now: Instant) {
        (self.number, self.at) = (number, Some(now));
    }
}

/// A progress message with words below it.
pub(super) fn with_words(progress: Progress, words: FormattedText) -> Progress {
    if words.text.is_empty() {
        return progress;
    }
    let Progress { text: FormattedText { mut text, mut entities }, stop } = progress;
    text.push_str("\n\n");
    let before = units(&text);
    text.push_str(&words.text);
    let moved = |entity: Entity| Entity { offset: entity.offset + before, ..entity };
    entities.extend(words.entities.into_iter().map(moved));
    Progress { text: FormattedText { text, entities }, stop }
}

#[cfg(test)]
mod tests {
    use channel::formatting::Style;

    use super::*;

    #[test]
    fn a_draft_is_renewed_at_its_pace_and_before_it_goes() {
        let (mut draft, start) = (ShownDraft::default(), Instant::now());
        let said = |number| Said { number, text: "so".into() };
        let after = |ms| start + Duration::from_millis(ms);
        assert!(draft.is_due(&said(1), start) && !draft.is_growing(start));
        draft.begun(1, start);
        assert!(!draft.is_due(&said(2), after(499)) && draft.is_due(&said(2), after(500)));
        assert!(!draft.is_due(&said(1), after(19_999)) && draft.is_due(&said(1), after(20_000)));
        assert!(draft.is_growing(after(2_999)) && !draft.is_growing(after(3_000)));
        draft.is_refused = true;
        assert!(!draft.is_due(&said(2), after(60_000)));
    }

    #[test]
    fn words_stand_below_the_progress_with_their_styles() {
        let bold = |offset, length| Entity { offset, length, style: Style::Bold };
        let words = FormattedText { text: "so far".to_owned(), entities: vec![bold(3, 3)] };
        let progress = Progress { text: FormattedText::plain("Working · 3 s"), stop: None };
        assert_eq!(with_words(progress.clone(), FormattedText::plain("")), progress);
        let Progress { text, .. } = with_words(progress, words);
        assert_eq!((text.text.as_str(), text.entities), ("Working · 3 s\n\nso far", vec![bold(18, 3)]));
    }
}
