//! The IDs that cross process borders, each a type of its own.
//!
//! IDs that Autonous makes are UUIDs of version 7, so they sort by time. IDs that callers send in headers
//! are any short word: other agents have their own numbering.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::hash::sha256;

/// The most characters of an ID.
pub const MAX_ID_CHARS: usize = 128;

/// Why a text is not an ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an ID has 1 to {MAX_ID_CHARS} visible ASCII characters without spaces")]
pub struct InvalidId;

/// What every ID has: its text.
macro_rules! text_of {
    ($name:ident) => {
        impl $name {
            /// The ID as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A new ID, a UUID of version 7.
            #[expect(clippy::new_without_default, reason = "each call makes another ID")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7().to_string())
            }
        }

        text_of!($name);

        impl std::str::FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let length_fits = (1..=MAX_ID_CHARS).contains(&text.len());
                if length_fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidId)
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }
    };
}

id! {
    /// An event's ID; a tool call's `call_id` is the ID of its `tool_call.started` event.
    EventId
}
id! {
    /// A task's ID. A task is one message from a user and everything that is done for it.
    TaskId
}
id! {
    /// Names whose reads and locks a call uses: one chat (`<channel>:<chat ID>`), or `default`.
    SessionId
}

/// A message's ID in its chat: a string of the channel. In JSON, an ID that is a number is a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(from = "NumberOrText")]
pub struct MessageId(String);

/// A person's ID in a channel: a string of the channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct PersonId(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(i64),
    Text(String),
}

text_of!(MessageId);
text_of!(PersonId);

impl From<String> for MessageId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<String> for PersonId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<i64> for MessageId {
    fn from(number: i64) -> Self {
        Self(number.to_string())
    }
}

impl From<NumberOrText> for MessageId {
    fn from(id: NumberOrText) -> Self {
        match id {
            NumberOrText::Number(number) => number.into(),
            NumberOrText::Text(text) => Self(text),
        }
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<i64>() {
            Ok(number) if number.to_string() == self.0 => serializer.serialize_i64(number),
            Ok(_) | Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// The channel of a session that may not be valid.
pub fn channel_of(session: &str) -> Option<&str> {
    session.split_once(':').map(|(channel, _)| channel)
}

impl SessionId {
    /// The session of callers that send none.
    pub fn default_session() -> Self {
        Self("default".to_owned())
    }

    /// The channel whose chat it is, if it has the form of one.
    pub fn channel(&self) -> Option<&str> {
        channel_of(&self.0)
    }

    /// Whether it is a chat of this channel.
    pub fn is_of(&self, channel: &str) -> bool {
        self.channel() == Some(channel)
    }

    /// The name of the session's own directory, where sessions have their own: at most 255 bytes, safe as one
    /// name of a path, and no two sessions share one.
    ///
    /// A colon becomes a hyphen: `telegram-4711` for `telegram:4711`. If the session cannot be read back from
    /// that, or has anything but lower-case letters, digits and hyphens, a part of it is followed by a dot
    /// and a digest of the whole.
    pub fn directory_name(&self) -> String {
        let hyphenated = self.0.replace(':', "-");
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_short = hyphenated.len() <= MAX_PLAIN_NAME_BYTES;
        if is_short && hyphenated.bytes().all(is_plain) && read_back(&hyphenated) == self.0 {
            return hyphenated;
        }
        let mut name: String = hyphenated
            .bytes()
            .take(MAX_PLAIN_NAME_BYTES)
            .map(|byte| if is_plain(byte) { byte as char } else { '_' })
            .collect();
        name.push('.');
        name.push_str(&sha256(self.0.as_bytes())[..DIGEST_CHARS]);
        name
    }
}

/// A longer name is cut, and gets a digest.
const MAX_PLAIN_NAME_BYTES: usize = 64;

/// 128 bits: two sessions with the same digest cannot be found.
const DIGEST_CHARS: usize = 32;

/// The session that a plain name stands for: a hyphen at the beginning or after another one is itself, as in
/// the ID of a group; any other is a colon.
fn read_back(name: &str) -> String {
    let mut before = '-';
    name.chars()
        .map(|character| {
            let is_colon = character == '-' && before != '-';
            before = character;
            if is_colon { ':' } else { character }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_uuids_of_version_7_and_sort_by_time() {
        let (first, second) = (EventId::new(), EventId::new());
        assert_eq!(uuid::Uuid::parse_str(first.as_str()).unwrap().get_version_num(), 7);
        assert!(first < second);
    }

    #[test]
    fn ids_with_spaces_controls_or_too_many_characters_are_refused() {
        let long = "a".repeat(MAX_ID_CHARS + 1);
        for bad in ["", "a b", "a\nb", "é", long.as_str()] {
            assert_eq!(bad.parse::<SessionId>(), Err(InvalidId), "{bad:?}");
        }
        assert!("telegram:-100123".parse::<SessionId>().is_ok());
    }

    #[test]
    fn a_message_id_is_a_number_in_json_where_it_is_written_as_one() {
        for (id, json) in [("12", "12"), ("-3", "-3"), ("012", "\"012\""), ("$a:b", "\"$a:b\"")] {
            let id = MessageId::from(id.to_owned());
            assert_eq!(serde_json::to_string(&id).unwrap(), json);
            assert_eq!(serde_json::from_str::<MessageId>(json).unwrap(), id);
        }
    }

    fn directory_name(session: &str) -> String {
        session.parse::<SessionId>().unwrap().directory_name()
    }

    #[test]
    fn the_directory_of_a_chat_is_readable() {
        for (session, name) in [
            ("telegram:4711", "telegram-4711"),
            ("telegram:-100123", "telegram--100123"),
            ("telegram:-100123:12", "telegram--100123-12"),
            ("local:default", "local-default"),
            ("default", "default"),
        ] {
            assert_eq!(directory_name(session), name);
        }
        assert!(directory_name("local:a-b").starts_with("local-a-b."), "it is not the one of local:a:b");
        assert!(directory_name("../../etc").starts_with("______etc."));
    }

    #[test]
    fn no_two_sessions_share_a_directory_and_each_is_one_safe_name() {
        // All words of up to six of these, and some that are long or differ in letter case alone.
        let mut sessions = vec![String::new()];
        let mut last = sessions.clone();
        for _ in 0..6 {
            last = last
                .iter()
                .flat_map(|word| ["a", "-", ":", ".", "/"].map(|more| format!("{word}{more}")))
                .collect();
            sessions.extend(last.iter().cloned());
        }
        sessions.remove(0);
        sessions.extend((60..=MAX_ID_CHARS).map(|length| "x".repeat(length)));
        sessions.extend(
            ["A", "Aa", "aA", "telegram_1", "telegram.1", "telegram-1", "telegram:1"].map(str::to_owned),
        );
        let mut names: Vec<String> = sessions.iter().map(|session| directory_name(session)).collect();
        for name in &names {
            let is_safe =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
            assert!(name.len() <= 255 && name.bytes().all(is_safe) && !name.starts_with('.'), "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), sessions.len());
    }
}
