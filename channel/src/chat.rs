//! The name of a channel, and one chat of a channel.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use protocol::SessionId;
use serde::{Deserialize, Serialize};

const MAX_NAME_BYTES: usize = 32;

/// The name of a channel: lower-case letters, digits, `_` and `-`, beginning with a letter. It never has a
/// colon, which ends it in a session ID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChannelName(Cow<'static, str>);

#[derive(Debug, thiserror::Error)]
#[error("invalid channel name: {0:?}")]
pub struct InvalidChannelName(String);

/// One chat.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Chat {
    /// Its channel.
    pub channel: ChannelName,
    /// Its ID in the channel.
    pub id: String,
}

impl ChannelName {
    /// A name that is part of the program; an invalid one does not compile in a constant.
    pub const fn new(name: &'static str) -> Self {
        assert!(is_valid(name.as_bytes()), "invalid channel name");
        Self(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChannelName {
    type Err = InvalidChannelName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match is_valid(text.as_bytes()) {
            true => Ok(Self(Cow::Owned(text.to_owned()))),
            false => Err(InvalidChannelName(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ChannelName {
    type Error = InvalidChannelName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ChannelName> for String {
    fn from(name: ChannelName) -> Self {
        name.0.into_owned()
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Chat {
    /// A chat of a channel.
    pub fn new(channel: ChannelName, id: impl fmt::Display) -> Self {
        Self { channel, id: id.to_string() }
    }

    /// The chat that it is a part of, or itself.
    pub fn whole(&self) -> Self {
        Self::new(self.channel.clone(), whole(&self.id))
    }

    /// The chat at an [address](Self::address); none if the text is none.
    pub fn at(address: &str) -> Option<Self> {
        let (channel, id) = address.split_once(':')?;
        Some(Self::new(channel.parse().ok()?, id))
    }

    /// Where it is, in one text: `<channel>:<chat ID>`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.channel, self.id)
    }

    /// The session that the tool server keeps reads and locks for, which has the chat's address as its name.
    pub fn session(&self) -> SessionId {
        self.address().parse().unwrap_or_else(|_| SessionId::default_session())
    }
}

/// The ID of the chat that a chat is a part of: a part, such as a topic, has the ID `CHAT:PART`.
pub fn whole(chat_id: &str) -> &str {
    chat_id.split(':').next().unwrap_or(chat_id)
}

const fn is_valid(name: &[u8]) -> bool {
    let mut at = 0;
    while at < name.len() {
        let is_allowed = match name[at] {
            b'a'..=b'z' => true,
            b'0'..=b'9' | b'_' | b'-' => at > 0,
            _ => false,
        };
        if !is_allowed {
            return false;
        }
        at += 1;
    }
    !name.is_empty() && name.len() <= MAX_NAME_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_name_has_no_colon_and_makes_the_session_id_unambiguous() {
        for invalid in ["", "7up", "-a", "a:b", "Telegram", "a b", "ä", &"a".repeat(33)] {
            assert!(invalid.parse::<ChannelName>().is_err(), "{invalid:?}");
        }
        let name: ChannelName = "my-channel_2".parse().unwrap();
        assert_eq!(Chat::new(name, "a:7").session().as_str(), "my-channel_2:a:7");
    }
}
