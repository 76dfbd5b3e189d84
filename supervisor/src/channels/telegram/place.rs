//! Where messages come from and go to: a chat, or a topic of one.
//!
//! In our tables either is one ID, `4711` or `-1001:12`, so that a topic is a conversation of its own.

use std::fmt;
use std::str::FromStr;

use teloxide::types::{ChatId, Message};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) chat: ChatId,
    /// Its `message_thread_id`. The general topic of a forum has none: it is the chat itself, and Telegram
    /// takes no number for it.
    pub(super) topic: Option<i32>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidPlace;

impl Place {
    pub(super) fn of(message: &Message) -> Self {
        let topic = message.thread_id.filter(|_| message.is_topic_message);
        Self { chat: message.chat.id, topic: topic.map(|topic| topic.0.0) }
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    /// Only what [`fmt::Display`] writes: one place has one ID.
    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let (chat, topic) = match text.split_once(':') {
            Some((chat, topic)) => (chat, Some(topic.parse().map_err(|_| InvalidPlace)?)),
            None => (text, None),
        };
        let place = Self { chat: ChatId(chat.parse().map_err(|_| InvalidPlace)?), topic };
        if place.to_string() == text { Ok(place) } else { Err(InvalidPlace) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.topic {
            Some(topic) => write!(formatter, "{}:{topic}", self.chat.0),
            None => write!(formatter, "{}", self.chat.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_id() {
        for text in ["4711", "-1001", "-1001:12"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for text in ["", "x", "+1", "01", "1:", ":1", "1:2:3", "1:+2", "1:x"] {
            assert_eq!(text.parse::<Place>(), Err(InvalidPlace), "{text}");
        }
    }
}
