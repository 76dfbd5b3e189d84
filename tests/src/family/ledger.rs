//! What the family wrote, and what must come of it.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::model;
use crate::FakeTelegram;

/// What must come of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// One answer, in the order in which its sender wrote.
    Answered,
    /// One answer, whenever it comes: it was to wait behind others.
    Aside,
    /// At most one answer: it was stopped, or another word took its place.
    Maybe,
    /// At least one answer: it comes from a call that may have been made twice.
    Later,
}

#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) chat: i64,
    pub(super) by: i64,
    pub(super) word: String,
    pub(super) fate: Fate,
    pub(super) at: Instant,
}

/// A time in which something was owed to a chat, or in which a person was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) chat: i64,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    written: Mutex<Vec<Written>>,
    /// Commands, from when they were sent to when they were answered.
    commands: Mutex<Vec<Span>>,
    /// From when a question came to when its person answered.
    considered: Mutex<Vec<Span>>,
    faults: Mutex<Vec<String>>,
}

impl Ledger {
    pub(super) fn write(&self, chat: i64, by: i64, word: &str, fate: Fate) {
        let written = Written { chat, by, word: word.to_owned(), fate, at: Instant::now() };
        lock(&self.written).push(written);
    }

    /// Says that no person waits for a word any longer.
    pub(super) fn release(&self, word: &str) {
        let mut written = lock(&self.written);
        written.iter_mut().filter(|one| one.word == word).for_each(|one| one.fate = Fate::Maybe);
    }

    pub(super) fn command(&self, chat: i64, from: Instant) {
        lock(&self.commands).push(Span { chat, from, to: Instant::now() });
    }

    pub(super) fn considered(&self, chat: i64, from: Instant) {
        lock(&self.considered).push(Span { chat, from, to: Instant::now() });
    }

    /// Something is not as a person expects it.
    pub(super) fn fault(&self, what: String) {
        lock(&self.faults).push(what);
    }

    pub(super) fn written(&self) -> Vec<Written> {
        lock(&self.written).clone()
    }

    pub(super) fn commands(&self) -> Vec<Span> {
        lock(&self.commands).clone()
    }

    pub(super) fn considerations(&self) -> Vec<Span> {
        lock(&self.considered).clone()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        lock(&self.faults).clone()
    }

    /// The words that one person, or everybody, still waits for.
    pub(super) fn open(&self, telegram: &FakeTelegram, by: Option<i64>) -> Vec<Written> {
        let mut open = self.written();
        open.retain(|one| one.fate != Fate::Maybe && by.is_none_or(|by| one.by == by));
        if open.is_empty() {
            return open;
        }
        let answers = telegram.sent_that(|sent| !model::answered(&sent.text).is_empty());
        let answered: Vec<&str> = answers.iter().flat_map(|sent| model::answered(&sent.text)).collect();
        open.retain(|one| !answered.contains(&one.word.as_str()));
        open
    }
}

fn lock<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().expect("no person panics while writing")
}
