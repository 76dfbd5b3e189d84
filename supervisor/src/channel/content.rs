//! What a row of the outbox holds: a text, an edit, a file or a reaction, each with what it needs and
//! nothing else.

/// Something that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A message.
    Text(String),
    /// Another text for a message that was sent before.
    Edit {
        /// That message, by its number in the chat.
        message_id: i64,
        /// What it says from now on.
        text: String,
    },
    /// A file.
    Document(File),
    /// A voice message, a file in OGG with Opus.
    Voice(File),
    /// A reaction to a message.
    Reaction {
        /// That message, by its number in the chat.
        message_id: i64,
        /// One of the emojis that the channel knows.
        emoji: String,
    },
}

/// A file that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name there.
    pub name: String,
    /// What stands below it; may be empty.
    pub caption: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Content {
    /// The kind as it stands in the table.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Edit { .. } => "edit",
            Self::Document(_) => "document",
            Self::Voice(_) => "voice",
            Self::Reaction { .. } => "reaction",
        }
    }

    /// The column `text`: what a reader of the row sees.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Edit { text, .. } => text,
            Self::Document(file) | Self::Voice(file) => &file.caption,
            Self::Reaction { emoji, .. } => emoji,
        }
    }

    /// The message that it refers to.
    pub const fn target(&self) -> Option<i64> {
        match self {
            Self::Edit { message_id, .. } | Self::Reaction { message_id, .. } => Some(*message_id),
            Self::Text(_) | Self::Document(_) | Self::Voice(_) => None,
        }
    }

    /// The file in it.
    pub const fn file(&self) -> Option<&File> {
        match self {
            Self::Document(file) | Self::Voice(file) => Some(file),
            Self::Text(_) | Self::Edit { .. } | Self::Reaction { .. } => None,
        }
    }
}
