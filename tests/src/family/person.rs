//! A person of the family: how they write, wait and press.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ledger::{Fate, Ledger};
use super::model::{self, Verb};
use super::trouble::milliseconds;
use crate::fake_telegram::Sent;
use crate::fake_telegram::update::Chat;
use crate::{FakeTelegram, Random, wait};

pub(super) const GROUP: Chat = Chat { id: -6000 };

/// How long anybody waits for anything.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) id: i64,
    pub(super) name: &'static str,
    /// The language of their client.
    pub(super) language: &'static str,
}

#[derive(Debug)]
pub(super) struct Person<'a> {
    pub(super) member: Member,
    pub(super) random: Random,
    pub(super) telegram: &'a FakeTelegram,
    pub(super) ledger: &'a Ledger,
}

impl Person<'_> {
    pub(super) fn chat(&self) -> Chat {
        Chat { id: self.member.id }
    }

    /// A new word with this fate in the person's own chat, and how it is asked for.
    pub(super) fn ask(&mut self, verb: Verb, fate: Fate) -> (String, String) {
        let word = self.random.word();
        self.ledger.write(self.member.id, self.member.id, &word, fate);
        let text = verb.asks(&word);
        (word, text)
    }

    /// Writes in the own chat; returns the message's number.
    pub(super) fn say(&self, text: &str) -> i64 {
        self.send(self.chat(), &json!({"text": text}))
    }

    /// Asks for something new in the own chat; returns its word, and the message's number.
    pub(super) fn request(&mut self, verb: Verb, fate: Fate) -> (String, i64) {
        let (word, text) = self.ask(verb, fate);
        let number = self.say(&text);
        (word, number)
    }

    /// Sends a message with these fields; returns its number.
    pub(super) fn send(&self, chat: Chat, fields: &Value) -> i64 {
        let number = self.telegram.next_number();
        self.telegram.push(self.signed(chat, number, fields));
        number
    }

    /// Changes the text of a message.
    pub(super) fn edit(&self, number: i64, text: &str) {
        let now = protocol::now_ms() / 1000;
        let mut update = self.signed(self.chat(), number, &json!({"text": text, "edit_date": now}));
        self.telegram.push(json!({"edited_message": update["message"].take()}));
    }

    fn signed(&self, chat: Chat, number: i64, fields: &Value) -> Value {
        let Member { id, name, language } = self.member;
        let from = json!({"id": id, "is_bot": false, "first_name": name, "language_code": language});
        let mut update = chat.with(fields);
        update["message"]["from"] = from;
        update["message"]["message_id"] = number.into();
        update
    }

    /// Sends a command, and waits for what comes of it, which is no answer of a model.
    pub(super) fn command(&self, text: &str) -> Option<Sent> {
        let begun = Instant::now();
        self.say(text);
        let chat = self.member.id;
        let is_it = |sent: &Sent| {
            sent.chat_id == chat
                && sent.at > begun
                && sent.method == "sendmessage"
                && !sent.is_progress
                && sent.markup.is_null()
                && model::answered(&sent.text).is_empty()
        };
        let answer = wait::within(PATIENCE, || self.telegram.sent_that(is_it).into_iter().next());
        match &answer {
            Some(_) => self.ledger.command(chat, begun),
            None => self.ledger.fault(format!("{} has no answer to {text}", self.member.name)),
        }
        answer
    }

    /// Waits until everything that this person asked for is answered.
    pub(super) fn wait(&self) {
        let open = || self.ledger.open(self.telegram, Some(self.member.id));
        if !wait::is_true_within(PATIENCE, || open().is_empty()) {
            let words: Vec<String> = open().into_iter().map(|one| one.word).collect();
            words.iter().for_each(|word| self.ledger.release(word));
            self.ledger.fault(format!("{} has no answer to {words:?} in time", self.member.name));
        }
    }

    /// Three times in four, waits for all answers before going on.
    pub(super) fn wait_mostly(&mut self) {
        if self.random.below(4) > 0 {
            self.wait();
        }
    }

    pub(super) fn pause(&mut self, most_ms: usize) {
        wait::out(milliseconds(&mut self.random, most_ms));
    }

    /// Waits for the question about a word in the own chat.
    pub(super) fn question(&self, word: &str) -> Option<Sent> {
        let chat = self.member.id;
        let is_it = |sent: &Sent| {
            sent.chat_id == chat
                && sent.method == "sendmessage"
                && sent.text.contains(word)
                && model::answered(&sent.text).is_empty()
                && !sent.is_progress
        };
        let asked = wait::within(PATIENCE, || self.telegram.sent_that(is_it).pop());
        if asked.is_none() {
            self.ledger.fault(format!("{} is not asked about {word}", self.member.name));
        }
        asked
    }

    /// Presses the question's button at this place, and waits until it is seen: the press has an answer, or a
    /// kill has cost that and the question says what was decided.
    pub(super) fn press(&self, question: &Sent, from_the_end: bool) {
        let buttons = question.buttons();
        let chosen = if from_the_end { buttons.last() } else { buttons.first() };
        let Some((_, data)) = chosen else {
            return self.ledger.fault(format!("no buttons below {}", question.text));
        };
        let press = self.telegram.press(self.chat(), self.member.id, question.number, data);
        let is_closed = |sent: &Sent| {
            sent.chat_id == question.chat_id
                && sent.target == Some(question.number)
                && sent.markup.is_null()
                && sent.method.starts_with("edit")
        };
        let is_seen =
            || self.telegram.answer_to(&press).is_some() || !self.telegram.sent_that(is_closed).is_empty();
        if !wait::is_true_within(PATIENCE, is_seen) {
            self.ledger.fault(format!("the press on {} has no answer", question.text));
        }
        self.ledger.considered(self.member.id, question.at);
    }
}
