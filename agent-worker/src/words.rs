//! The words of a reply while the model writes them, on their way to the supervisor.
//!
//! Only the newest text counts, and nothing waits for it: it is sent at most every [`PAUSE`], and what came
//! meanwhile goes with the next one. It is no event, and the reply has all of it again.

use std::time::Duration;

use protocol::{FromWorker, MAX_WORDS_BYTES, TaskId};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

/// From one text to the next.
const PAUSE: Duration = Duration::from_millis(250);

/// Where the words of a task's replies are said. Once it is dropped, nothing more is sent.
#[derive(Debug)]
pub struct Words {
    newest: watch::Sender<String>,
    _sending: AbortOnDropHandle<()>,
}

impl Words {
    /// Needs a runtime.
    pub(crate) fn new(task_id: TaskId, outgoing: mpsc::Sender<FromWorker>) -> Self {
        let (newest, heard) = watch::channel(String::new());
        let sending = tokio::spawn(send(task_id, heard, outgoing));
        Self { newest, _sending: AbortOnDropHandle::new(sending) }
    }

    /// Says all of a reply's text that has come. A text that is too long is shown when it is whole.
    pub(crate) fn say(&self, so_far: &str, is_whole: bool) {
        let said = if is_whole { so_far } else { without_last_word(so_far) };
        if said.len() > MAX_WORDS_BYTES || said.trim().is_empty() {
            return;
        }
        self.newest.send_if_modified(|known| {
            let is_new = known != said;
            if is_new {
                said.clone_into(known);
            }
            is_new
        });
    }
}

/// The text without the word that may still be written: half a secret has no form that anything finds.
fn without_last_word(text: &str) -> &str {
    text.trim_end_matches(|character: char| character.is_ascii_graphic())
}

async fn send(task_id: TaskId, mut heard: watch::Receiver<String>, outgoing: mpsc::Sender<FromWorker>) {
    while heard.changed().await.is_ok() {
        let text = heard.borrow_and_update().clone();
        if outgoing.send(FromWorker::Words { task_id: task_id.clone(), text }).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn text(message: Option<FromWorker>) -> String {
        match message {
            Some(FromWorker::Words { text, .. }) => text,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_text_is_sent_at_a_pace_and_nothing_after_the_end() {
        let (sender, mut sent) = mpsc::channel(8);
        let (words, start) = (Words::new(TaskId::new(), sender), Instant::now());
        for so_far in ["one t", "one two t", "one two three f"] {
            words.say(so_far, false);
            tokio::time::sleep(PAUSE / 5).await;
        }
        assert_eq!(text(sent.recv().await), "one ");
        assert_eq!(text(sent.recv().await), "one two three ");
        assert!(start.elapsed() >= PAUSE);
        words.say("one two three four", true);
        words.say("one two three four", true);
        assert_eq!(text(sent.recv().await), "one two three four");
        words.say("something else", true);
        drop(words);
        assert!(sent.recv().await.is_none());
    }

    #[tokio::test]
    async fn half_a_word_and_a_text_without_bounds_are_not_said() {
        let (sender, _sent) = mpsc::channel(8);
        let words = Words::new(TaskId::new(), sender);
        let said = |text: &str, is_whole| {
            words.say(text, is_whole);
            words.newest.borrow().clone()
        };
        assert_eq!(said("ghp_abc", false), "");
        assert_eq!(said("the token is ghp_abc", false), "the token is ");
        assert_eq!(said("日本語の", false), "日本語の");
        assert_eq!(said(&"x ".repeat(MAX_WORDS_BYTES), true), "日本語の");
    }
}
