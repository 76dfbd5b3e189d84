//! The chats: what each of them sent, in order, and what it got back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{decider, model};
use crate::fake_telegram::Sent;
use crate::fake_telegram::update::{Chat, listed};
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
    /// The numbers of its messages: an album has several.
    numbers: Vec<i64>,
    /// The updates that brought them.
    updates: Vec<i64>,
}

impl Written {
    pub(super) fn file(&self) -> String {
        format!("chat-{}.txt", self.chat)
    }

    pub(super) fn text(&self) -> String {
        model::request_for(&self.word, &self.file())
    }

    pub(super) fn is_album(&self) -> bool {
        self.numbers.len() > 1
    }

    /// The files of an album.
    pub(super) fn photos(&self) -> Vec<String> {
        let count = if self.is_album() { self.numbers.len() } else { 0 };
        (0..count).map(|at| self.photo(at)).collect()
    }

    fn photo(&self, at: usize) -> String {
        format!("{}-{at}", self.word)
    }

    /// One of its messages as the chat sends it. In every second chat, what is said while a task runs is
    /// added to it, and an album has its words below the first photo; in the others each message is a task of
    /// its own, and the words are below the last.
    fn sent(&self, at: usize) -> Value {
        let (chat, is_even) = (Chat { id: self.chat }, self.chat % 2 == 0);
        let text = self.text();
        if !self.is_album() {
            return chat.text(&if is_even { text } else { format!("/queue {text}") });
        }
        let speaks = if is_even { at == 0 } else { at + 1 == self.numbers.len() };
        let mut update = chat.photo_of(&self.photo(at), if speaks { &text } else { "" });
        update["message"]["message_id"] = self.numbers[at].into();
        update["message"]["media_group_id"] = format!("album of {}", self.word).into();
        update
    }
}

impl Chats {
    pub(super) fn new(count: usize, seed: u64) -> Self {
        let count = i64::try_from(count).expect("there are few chats");
        let ids = (FIRST_ID..FIRST_ID + count).collect();
        Self { ids, words: Random::new(seed), written: Vec::new() }
    }

    pub(super) fn ids(&self) -> String {
        listed(self.ids.iter().copied())
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
            let count = if random.below(5) == 0 { 2 + random.below(2) } else { 1 };
            let numbers = (0..count).map(|_| telegram.next_number()).collect();
            let mut written = Written { chat, word: self.words.word(), numbers, updates: Vec::new() };
            written.photos().iter().for_each(|photo| telegram.add_file(photo, "a picture"));
            written.updates = (0..count).map(|at| telegram.push(written.sent(at))).collect();
            self.written.push(written);
        }
        let again = &self.written[random.below(self.written.len())];
        let at = random.below(again.updates.len());
        if telegram.confirmed().contains(&again.updates[at]) {
            telegram.redeliver(again.updates[at], again.sent(at));
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
            sent.target.is_none()
                && sent.file.is_none()
                && !decider::is_about_approval(&sent.text)
                && !is_notice(sent)
        };
        for sent in telegram.sent().into_iter().filter(is_reply) {
            let words = sent.text.lines().map(word_of).collect();
            replies.entry(sent.chat_id).or_default().push(words);
        }
        replies
    }

    /// The chats that were told that a file does not come yet: what they wrote behind it is answered first.
    pub(super) fn that_wait_for_files(telegram: &FakeTelegram) -> BTreeSet<i64> {
        telegram.sent_that(is_notice).iter().map(|sent| sent.chat_id).collect()
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

fn is_notice(sent: &Sent) -> bool {
    sent.text.starts_with("I cannot fetch ")
}
