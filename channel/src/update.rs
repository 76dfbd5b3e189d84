//! What a channel delivers: messages, presses of buttons, and updates that are neither.

use std::borrow::Cow;

use protocol::{MessageId, Origin, Sender};
use serde::{Deserialize, Serialize};
use texts::Text;

use super::Chat;
use super::attachment::Attachment;

/// One thing that a channel received. Each has a row in the database, so that none is fetched forever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The channel's ID of it: one that comes again is ignored.
    pub id: Option<String>,
    pub chat: Chat,
    /// The message that it is, or that it is about.
    pub message_id: Option<MessageId>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Message(Box<Incoming>),
    Press(Press),
    /// A group has another ID from now on.
    Moved {
        from: String,
        to: String,
    },
    /// It is kept, with the reason why nothing follows from it.
    Other(Cow<'static, str>),
}

/// A message that somebody wrote in their own name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// Who wrote it, and where; none where the channel has no senders.
    pub origin: Option<Origin>,
    /// In seconds since the epoch.
    pub sent_at: i64,
    /// Whether it speaks to the bot, where that is not the only one who listens.
    pub is_to_bot: bool,
    /// All that it says, what it quotes included.
    pub text: String,
    /// What its sender wrote, and nothing that it quotes.
    pub said: String,
    /// The message that it answers.
    pub answers: Option<MessageId>,
    /// What its sender wrote, if that begins with a command, of ours or not.
    pub command: Option<String>,
    pub files: Vec<Attachment>,
    /// Messages with one name belong together.
    pub album: Option<String>,
    /// Whether its sender probably sends more that belongs to it.
    pub more_follows: bool,
    /// Whether it replaces what the message said before.
    pub is_edit: bool,
    /// Why it cannot be run.
    pub unreadable: Option<Unreadable>,
    /// The tag of the language that its sender's client names, such as `de` or `pt-br`.
    pub client_language: Option<String>,
}

/// Why a message cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unreadable {
    FileTooLarge,
    /// It has nothing that can be read.
    Empty,
    /// A member came, a title changed, and their like.
    AboutTheChat,
}

impl Unreadable {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::FileTooLarge => "a file is larger than a bot can fetch",
            Self::Empty => "the message has nothing that can be read",
            Self::AboutTheChat => "the message is about the chat itself",
        }
    }

    /// What its chat reads about it, if anything.
    pub const fn reply(self) -> Option<Text<'static>> {
        match self {
            Self::FileTooLarge => Some(Text::FileTooLarge),
            Self::Empty => Some(Text::Unreadable),
            Self::AboutTheChat => None,
        }
    }
}

/// A press of a button. What it says is not believed: its client chose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Press {
    /// What the channel answers it by.
    pub id: String,
    pub by: Sender,
    pub data: String,
    /// The tag of the language that its client names.
    pub client_language: Option<String>,
}

/// The answer to a press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressAnswer {
    /// The press's own ID.
    pub press_id: String,
    /// What the person reads.
    pub words: String,
    /// The message whose buttons do nothing any more.
    pub closes: Option<(Chat, MessageId)>,
}

impl Incoming {
    /// A text of now, which a channel without senders got.
    pub fn text(text: &str, sent_at: i64) -> Self {
        Self {
            sent_at,
            is_to_bot: true,
            text: text.to_owned(),
            said: text.to_owned(),
            command: text.trim_start().starts_with('/').then(|| text.to_owned()),
            ..Self::default()
        }
    }

    pub fn sender(&self) -> Option<&Sender> {
        self.origin.as_ref()?.from.as_ref()
    }

    pub fn is_forwarded(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.forwarded_from.is_some())
    }
}
