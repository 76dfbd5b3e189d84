//! Messages of the bot, as people ask for and use them.

use super::update::Chat;
use super::{FakeTelegram, Sent};
use crate::wait;

impl Sent {
    /// The buttons of its first row: what each says, and what it carries.
    pub fn buttons(&self) -> Vec<(String, String)> {
        let rows = self.markup["inline_keyboard"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |button: &serde_json::Value, name| button[name].as_str().unwrap_or_default().to_owned();
        rows.iter()
            .filter_map(|row| row.as_array())
            .flatten()
            .map(|button| (text(button, "text"), text(button, "callback_data")))
            .collect()
    }
}

impl FakeTelegram {
    /// Sends a text, and waits for the bot's next message.
    pub fn ask(&self, chat: Chat, text: &str) -> String {
        let before = self.sent().len();
        self.push(chat.text(text));
        self.wait_for_sent(before + 1)[before].text.clone()
    }

    /// What a message of the bot says now, once it was edited so often.
    pub fn edited(&self, number: i64, times: usize) -> Sent {
        let is_it = |sent: &Sent| sent.method == "editmessagetext" && sent.target == Some(number);
        wait::until("the message is edited", || self.sent_that(is_it).into_iter().skip(times - 1).next_back())
    }

    /// The question with buttons that is the chat's `number`th, counted from 0, and what its buttons carry.
    pub fn question(&self, chat: Chat, number: usize) -> (Sent, Vec<String>) {
        let asked = wait::until("somebody is asked", || {
            let asks = |sent: &Sent| sent.chat_id == chat.id && !sent.is_progress && !sent.markup.is_null();
            self.sent().into_iter().filter(asks).nth(number)
        });
        let carried = asked.buttons().into_iter().map(|(_, data)| data).collect();
        (asked, carried)
    }

    /// `user` presses a button of the bot's message; returns the answer that they see.
    pub fn press_answered(&self, chat: Chat, user: i64, message_id: i64, data: &str) -> String {
        let press = self.press(chat, user, message_id, data);
        wait::until("the press is answered", || self.answer_to(&press))
    }
}
