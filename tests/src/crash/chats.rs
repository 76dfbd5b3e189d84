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

    /// What the chat sends: each message is a task of its own, also while another one runs.
    fn sent(&self) -> String {
        format!("/queue {}", self.text())
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

    /// The words in the replies to each chat, in order, with duplicates.
    pub(super) fn replies(telegram: &FakeTelegram) -> BTreeMap<i64, Vec<String>> {
        let mut replies: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        let is_reply = |sent: &Sent| {
            sent.target.is_none() && sent.file.is_none() && !decider::is_about_approval(&sent.text)
        };
        for sent in telegram.sent().into_iter().filter(is_reply) {
            let word = sent.text.split(' ').nth(1).unwrap_or_default().trim_end_matches(':').to_owned();
            let is_answer = sent.text.starts_with(&model::answer_to(&word));
            replies.entry(sent.chat_id).or_default().push(if is_answer { word } else { sent.text });
        }
        replies
    }

    /// The words of a chat's messages, in order.
    pub(super) fn asked_by(&self, chat: i64) -> Vec<&str> {
        let own = self.written.iter().filter(|written| written.chat == chat);
        own.map(|written| written.word.as_str()).collect()
    }

    fn answered(&self, telegram: &FakeTelegram) -> BTreeSet<String> {
        Self::replies(telegram).into_values().flatten().collect()
    }
}
