//! The chats: what each of them sent, in order, and what it got back.

use std::collections::{BTreeMap, BTreeSet};

use super::{decider, model};
use crate::fake_telegram::Sent;
use crate::fake_telegram::update::Chat;
use crate::{FakeTelegram, Random};

const FIRST_ID: i64 = 5001;

/// As many messages as there are chats may be waiting at once, which keeps the system busy.
#[derive(Debug)]
pub(super) struct Chats {
    ids: Vec<i64>,
    words: Random,
    written: Vec<Written>,
}

#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) chat: i64,
    /// The word to note; no other message has it.
    pub(super) word: String,
    pub(super) update_id: i64,
}

impl Written {
    pub(super) fn file(&self) -> String {
        format!("chat-{}.txt", self.chat)
    }

    pub(super) fn text(&self) -> String {
        model::request_for(&self.word, &self.file())
    }

    /// What the chat sends. In every second one, what is said while a task runs is added to it; in the others
    /// each message is a task of its own.
    fn sent(&self) -> String {
        let text = self.text();
        if self.chat % 2 == 0 { text } else { format!("/queue {text}") }
    }
}

impl Chats {
    pub(super) fn new(count: usize, seed: u64) -> Self {
        let count = i64::try_from(count).expect("there are few chats");
        let ids = (FIRST_ID..FIRST_ID + count).collect();
        Self { ids, words: Random::new(seed), written: Vec::new() }
    }

    pub(super) fn ids(&self) -> String {
        let ids: Vec<String> = self.ids.iter().map(i64::to_string).collect();
        ids.join(",")
    }

    pub(super) fn written(&self) -> &[Written] {
        &self.written
    }

    /// Random chats send messages until as many wait as there are chats, and Telegram repeats an update that
    /// was already confirmed.
    pub(super) fn write(&mut self, telegram: &FakeTelegram, random: &mut Random) {
        let answered = self.answered(telegram).len();
        for _ in 0..(self.ids.len() + answered).saturating_sub(self.written.len()) {
            let chat = self.ids[random.below(self.ids.len())];
            let mut written = Written { chat, word: self.words.word(), update_id: 0 };
            written.update_id = telegram.push(Chat { id: chat }.text(&written.sent()));
            self.written.push(written);
        }
        let again = &self.written[random.below(self.written.len())];
        if telegram.confirmed().contains(&again.update_id) {
            telegram.redeliver(again.update_id, Chat { id: again.chat }.text(&again.sent()));
        }
    }

    pub(super) fn are_answered(&self, telegram: &FakeTelegram) -> bool {
        self.answered(telegram).len() == self.written.len()
    }

    /// The replies to each chat, in order, with duplicates: the words of each.
    pub(super) fn replies(telegram: &FakeTelegram) -> BTreeMap<i64, Vec<Vec<String>>> {
        let mut replies: BTreeMap<i64, Vec<Vec<String>>> = BTreeMap::new();
        let word_of = |line: &str| {
            let word = line.split(' ').nth(1).unwrap_or_default().trim_end_matches(':');
            if line.starts_with(&model::answer_to(word)) { word.to_owned() } else { line.to_owned() }
        };
        let is_reply = |sent: &Sent| {
            sent.target.is_none() && sent.file.is_none() && !decider::is_about_approval(&sent.text)
        };
        for sent in telegram.sent().into_iter().filter(is_reply) {
            let words = sent.text.lines().map(word_of).collect();
            replies.entry(sent.chat_id).or_default().push(words);
        }
        replies
    }

    /// The words of a chat's messages, in order.
    pub(super) fn asked_by(&self, chat: i64) -> Vec<&str> {
        let own = self.written.iter().filter(|written| written.chat == chat);
        own.map(|written| written.word.as_str()).collect()
    }

    fn answered(&self, telegram: &FakeTelegram) -> BTreeSet<String> {
        Self::replies(telegram).into_values().flatten().flatten().collect()
    }
}
