//! What the models of the running tasks write, while they write it. It is in memory only: one text for each
//! task that runs, bounded, without secrets, and gone before the task's result is stored.
//!
//! A draft of it is shown only while the text is here. So once an answer is in the outbox, no draft begins,
//! and the sender has to wait only for one that is on its way, and only so long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use channel::Chat;
use protocol::{MAX_WORDS_BYTES, TaskId};
use redaction::Redactor;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolkit::locked;

/// How long an answer waits for the draft before it.
const DRAFT_PATIENCE: Duration = Duration::from_millis(100);

/// The texts, shared by all parts of a run.
#[derive(Debug, Clone)]
pub(crate) struct Words(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    redactor: Redactor,
    state: Mutex<State>,
    /// The number of the newest text.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// By tasks: who says it, and what.
    said: HashMap<TaskId, (u64, Said)>,
    /// The drafts on their way, and what ends them.
    drafts: HashMap<Chat, CancellationToken>,
    last_number: u64,
}

/// What a task's model has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// A later text has a higher one.
    pub number: u64,
    pub text: Arc<str>,
}

impl Default for Words {
    fn default() -> Self {
        let (state, changed) = (Mutex::default(), watch::channel(0).0);
        Self(Arc::new(Shared { redactor: Redactor::new([]), state, changed }))
    }
}

impl Words {
    /// A task begins to run: what its model writes is said here.
    pub(crate) fn begin(&self, task: TaskId) -> Saying {
        let owner = self.lock().next_number();
        Saying { words: self.clone(), task, owner }
    }

    /// What a task's model has written; none while it runs no more, or has written nothing.
    pub(crate) fn of(&self, task: &TaskId) -> Option<Said> {
        self.lock().said.get(task).map(|(_, said)| said.clone())
    }

    /// Changes with every text that comes or goes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Begins a draft in a chat; none if the task's text is gone, or another one is on its way there.
    pub(crate) fn draft(&self, task: &TaskId, chat: &Chat) -> Option<Draft> {
        let mut state = self.lock();
        if !state.said.contains_key(task) || state.drafts.contains_key(chat) {
            return None;
        }
        let ended = CancellationToken::new();
        state.drafts.insert(chat.clone(), ended.clone());
        Some(Draft { words: self.clone(), chat: chat.clone(), ended })
    }

    /// Waits until no draft is on its way to a chat; one that takes too long is dropped.
    pub(crate) async fn settled(&self, chat: &Chat) {
        let mut changes = self.changes();
        let on_its_way = || self.lock().drafts.get(chat).cloned();
        let none_is_left = async { while on_its_way().is_some() && changes.changed().await.is_ok() {} };
        if tokio::time::timeout(DRAFT_PATIENCE, none_is_left).await.is_err() {
            on_its_way().iter().for_each(CancellationToken::cancel);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.0.state)
    }

    /// Changes the state under a new number, which those who follow the changes get.
    fn change(&self, change: impl FnOnce(&mut State, u64)) {
        let mut state = self.lock();
        let number = state.next_number();
        change(&mut state, number);
        drop(state);
        self.0.changed.send_replace(number);
    }
}

impl State {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// A running attempt, whose text goes with it.
#[derive(Debug)]
pub(crate) struct Saying {
    words: Words,
    task: TaskId,
    owner: u64,
}

impl Saying {
    /// All that the model has written so far of its reply.
    pub(crate) fn say(&self, text: &str) {
        if text.len() > MAX_WORDS_BYTES {
            return;
        }
        let text = self.words.0.redactor.redact(text).into();
        self.words.change(|state, number| {
            state.said.insert(self.task.clone(), (self.owner, Said { number, text }));
        });
    }
}

impl Drop for Saying {
    fn drop(&mut self) {
        self.words.change(|state, _| {
            // A later attempt may have begun.
            if state.said.get(&self.task).is_some_and(|(owner, _)| *owner == self.owner) {
                state.said.remove(&self.task);
            }
        });
    }
}

/// A draft on its way to a chat.
#[derive(Debug)]
pub(crate) struct Draft {
    words: Words,
    chat: Chat,
    ended: CancellationToken,
}

impl Draft {
    /// Resolves when it has to end because an answer waits for it.
    pub(crate) async fn has_to_end(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.words.change(|state, _| drop(state.drafts.remove(&self.chat)));
    }
}

#[cfg(test)]
mod tests {
    use channel::ChannelName;
    use tokio::time::Instant;

    use super::*;

    fn chat(id: i64) -> Chat {
        Chat::new(ChannelName::new("test"), id)
    }

    #[test]
    fn a_text_goes_with_its_attempt_and_one_that_is_too_long_is_not_kept() {
        let (words, task) = (Words::default(), TaskId::new());
        let first = words.begin(task.clone());
        assert_eq!(words.of(&task), None);
        first.say("one");
        first.say(&"x".repeat(MAX_WORDS_BYTES + 1));
        assert_eq!(&*words.of(&task).unwrap().text, "one");
        let second = words.begin(task.clone());
        second.say("two");
        drop(first);
        assert_eq!(&*words.of(&task).unwrap().text, "two");
        drop(second);
        assert!(words.of(&task).is_none() && words.lock().said.is_empty());
    }

    #[test]
    fn a_secret_is_not_kept_however_far_it_is_written() {
        let (words, task) = (Words::default(), TaskId::new());
        let saying = words.begin(task.clone());
        let secret = concat!("-----BEGIN RSA ", "PRIVATE KEY-----\n");
        let body = "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n".repeat(3);
        for text in [
            format!("It is:\n{secret}{body}"),
            format!("It is {}_{} or so", "ghp", "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvU"),
        ] {
            saying.say(&text);
            let said = words.of(&task).unwrap().text;
            assert!(said.starts_with("It is") && !said.contains("6Idr96"), "{said}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_for_the_draft_on_its_way_but_not_for_long() {
        let (words, task) = (Words::default(), TaskId::new());
        assert!(words.draft(&task, &chat(1)).is_none());
        let saying = words.begin(task.clone());
        saying.say("one");
        let draft = words.draft(&task, &chat(1)).unwrap();
        assert!(words.draft(&task, &chat(1)).is_none(), "one at a time");
        let start = Instant::now();
        words.settled(&chat(2)).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        words.settled(&chat(1)).await;
        assert_eq!(start.elapsed(), DRAFT_PATIENCE);
        draft.has_to_end().await;
        drop(draft);
        let quick = words.draft(&task, &chat(1)).unwrap();
        let start = Instant::now();
        let is_quick = async {
            tokio::time::sleep(DRAFT_PATIENCE / 5).await;
            drop(quick);
        };
        tokio::join!(is_quick, async { words.settled(&chat(1)).await });
        assert_eq!(start.elapsed(), DRAFT_PATIENCE / 5);
        drop(saying);
        assert!(words.draft(&task, &chat(1)).is_none(), "its text is gone");
    }
}
