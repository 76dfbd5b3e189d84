//! The chats: what each of them wrote, in order, and what it got back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use harness::fake_telegram::update::{Chat, listed};
use harness::{FakeTelegram, Random, wait};
use protocol::now_ms;

const FIRST_ID: i64 = 10_001;

/// One in so many messages runs a command; the others write a file.
const COMMANDS: usize = 5;

/// The most that a chat writes at once.
const MOST_AT_ONCE: usize = 3;

/// Behind `word-`, the digits of a word.
const DIGITS: usize = 16;

/// A message that puts its word, which no other message has, into a file of that name.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) chat: i64,
    pub(crate) word: String,
    pub(crate) at_ms: i64,
}

/// An answer that names the word of its message.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) word: String,
    pub(crate) at_ms: i64,
    pub(crate) text: String,
}

pub(crate) struct Chats {
    count: usize,
    random: Random,
    pub(crate) written: Vec<Written>,
}

impl Chats {
    pub(crate) const fn new(count: usize, random: Random) -> Self {
        Self { count, random, written: Vec::new() }
    }

    pub(crate) fn ids(&self) -> String {
        listed((0..self.count).map(id))
    }

    /// Random chats write until there are so many messages, spread over this time.
    pub(crate) fn write(&mut self, telegram: &FakeTelegram, until: usize, time: Duration) {
        let left = until.saturating_sub(self.written.len());
        let pause = time / u32::try_from(left.max(1)).unwrap_or(u32::MAX);
        while self.written.len() < until {
            let chat = id(self.random.below(self.count));
            for _ in 0..(1 + self.random.below(MOST_AT_ONCE)).min(until - self.written.len()) {
                let word = self.random.word();
                let text = match self.random.below(COMMANDS) {
                    0 => format!("bash cmd=\"echo -n {word} | tee -a {word}.txt\""),
                    _ => format!("write path={word}.txt content={word} mode=append"),
                };
                self.written.push(Written { chat, word, at_ms: now_ms() });
                telegram.push(Chat { id: chat }.text(&text));
                wait::out(pause);
            }
        }
    }

    /// The messages of each chat, in order.
    pub(crate) fn by_chat(&self) -> BTreeMap<i64, Vec<&Written>> {
        let mut chats: BTreeMap<i64, Vec<&Written>> = BTreeMap::new();
        self.written.iter().for_each(|written| chats.entry(written.chat).or_default().push(written));
        chats
    }
}

fn id(chat: usize) -> i64 {
    FIRST_ID + i64::try_from(chat).unwrap_or(0)
}

/// The answers to each chat, in order, with those that came twice. What names no message is no answer.
pub(crate) fn answers(telegram: &FakeTelegram) -> BTreeMap<i64, Vec<Answer>> {
    let (now, now_ms) = (Instant::now(), now_ms());
    let mut answers: BTreeMap<i64, Vec<Answer>> = BTreeMap::new();
    for sent in telegram.sent_that(|sent| sent.method == "sendmessage" && !sent.is_progress) {
        let Some(word) = word_in(&sent.text) else { continue };
        let ago = i64::try_from(now.duration_since(sent.at).as_millis()).unwrap_or(i64::MAX);
        let answer = Answer { word: word.to_owned(), at_ms: now_ms - ago, text: sent.text };
        answers.entry(sent.chat_id).or_default().push(answer);
    }
    answers
}

/// The word that a text names, if it names one.
pub(crate) fn word_in(text: &str) -> Option<&str> {
    let begin = text.find("word-")?;
    text.get(begin..begin + "word-".len() + DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_the_word_of_its_message() {
        let word = Random::new(1).word();
        assert_eq!(word_in(&format!("write: {word}.txt")), Some(word.as_str()));
        assert_eq!(word_in(&word), Some(word.as_str()));
        assert_eq!(word_in("The node is away: your word-"), None);
    }
}
