//! Where a message came from and its reply goes to.

use protocol::SessionId;

use crate::telegram::split;

/// A way in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// A Telegram bot.
    Telegram,
    /// The control port, and `supervisor chat` over it.
    Local,
}

impl Channel {
    /// All channels.
    pub const ALL: &'static [Channel] = &[Channel::Telegram, Channel::Local];

    /// The channel as it stands in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Local => "local",
        }
    }

    /// The messages that a text leaves as: Telegram's are bounded, a local one is whole.
    pub fn parts(self, text: &str) -> Vec<String> {
        match self {
            Self::Telegram => split::into_messages(text),
            Self::Local => vec![text.to_owned()],
        }
    }
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chat {
    /// Its channel.
    pub channel: Channel,
    /// Its name there: a number for Telegram, a word for the local channel.
    pub id: String,
}

impl Chat {
    /// A chat of the local channel.
    pub fn local(id: &str) -> Self {
        Self { channel: Channel::Local, id: id.to_owned() }
    }

    /// A Telegram chat.
    pub fn telegram(id: impl std::fmt::Display) -> Self {
        Self { channel: Channel::Telegram, id: id.to_string() }
    }

    /// The session that the tool server keeps reads and locks for. Names of local chats begin with a
    /// letter, so they never meet Telegram's numbers.
    pub fn session(&self) -> SessionId {
        format!("chat:{}", self.id).parse().unwrap_or_else(|_| SessionId::default_session())
    }
}

/// Whether a text can name a local chat: a letter, then letters, digits, `.`, `_` and `-`, at most 64.
pub fn is_local_name(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
    begins
        && name.len() <= 64
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_chat_can_not_take_the_name_of_a_telegram_chat() {
        for bad in ["", "42", "-42", "a b", "ä", "a/b", &"a".repeat(65)] {
            assert!(!is_local_name(bad), "{bad:?}");
        }
        assert!(is_local_name("local") && is_local_name("build-7.x_y"));
    }
}
