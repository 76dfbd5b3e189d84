//! The IDs that cross process borders, each a type of its own.
//!
//! IDs that Autonous makes are UUIDs of version 7, so they sort by time. IDs that callers send in headers
//! are any short word: other agents have their own numbering.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most characters of an ID.
pub const MAX_ID_CHARS: usize = 128;

/// Why a text is not an ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an ID has 1 to {MAX_ID_CHARS} visible ASCII characters without spaces")]
pub struct InvalidId;

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

            /// The ID as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

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

impl SessionId {
    /// The session of callers that send none.
    pub fn default_session() -> Self {
        Self("default".to_owned())
    }
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
}
