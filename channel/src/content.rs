//! The content of an outgoing message: a text, an edit, a file or a reaction.

use std::io;

use protocol::MessageId;
use serde::{Deserialize, Serialize};

use super::BoxFuture;
use crate::formatting::{Entity, FormattedText};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// A text with bold words, code, links and the like.
    Formatted(FormattedText),
    /// A text with buttons below it.
    Question {
        text: FormattedText,
        /// In rows.
        buttons: Vec<Vec<Button>>,
    },
    Edit {
        /// That message.
        message_id: MessageId,
        text: String,
    },
    Document(File),
    /// Files that are shown together; each is a message. Only a channel that makes some gets some
    /// ([`crate::Channel::together`]).
    Album(Vec<File>),
    /// A voice message, a file in OGG with Opus.
    Voice(File),
    Reaction {
        /// That message.
        message_id: MessageId,
        /// An emoji that the channel supports.
        emoji: String,
        /// Whether it is shown with a big animation.
        is_big: bool,
    },
}

/// A button below a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub label: String,
    /// What a press of it says, at most 64 bytes.
    pub data: String,
}

impl Button {
    pub fn new(label: &str, data: String) -> Self {
        Self { label: label.to_owned(), data }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    /// Its caption; may be empty.
    pub caption: FormattedText,
    pub body: FileBody,
    /// What it is shown as; none for a document.
    pub media: Option<Media>,
}

/// What a file is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Photo,
    Video,
    Audio,
}

impl Media {
    pub const ALL: [Self; 3] = [Self::Photo, Self::Video, Self::Audio];

    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Video => "video",
            Self::Audio => "audio",
        }
    }
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileBody {
    /// Here, on their way into the database.
    Bytes(Vec<u8>),
    /// In the database, from which they are read in parts.
    Stored(StoredFile),
}

/// Reads the files that are in the database.
pub trait StoredFiles: Send + Sync {
    /// A part of a file, counted from 0; none behind the last.
    fn part<'a>(&'a self, id: &'a str, number: u32) -> BoxFuture<'a, io::Result<Option<Vec<u8>>>>;
}

/// A file in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    pub id: String,
    pub size_bytes: u64,
}

impl FileBody {
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::Stored(stored) => stored.size_bytes,
        }
    }
}

impl Content {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Formatted(_) | Self::Question { .. } => "text",
            Self::Edit { .. } => "edit",
            Self::Document(_) | Self::Album(_) => "document",
            Self::Voice(_) => "voice",
            Self::Reaction { .. } => "reaction",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Text(text)
            | Self::Formatted(FormattedText { text, .. })
            | Self::Question { text: FormattedText { text, .. }, .. }
            | Self::Edit { text, .. } => text,
            Self::Document(file) | Self::Voice(file) => &file.caption.text,
            Self::Album(files) => files.first().map_or("", |first| &first.caption.text),
            Self::Reaction { emoji, .. } => emoji,
        }
    }

    /// The message it refers to.
    pub const fn target(&self) -> Option<&MessageId> {
        let (Self::Edit { message_id, .. } | Self::Reaction { message_id, .. }) = self else { return None };
        Some(message_id)
    }

    pub const fn file(&self) -> Option<&File> {
        let (Self::Document(file) | Self::Voice(file)) = self else { return None };
        Some(file)
    }

    pub fn buttons(&self) -> Option<&[Vec<Button>]> {
        let Self::Question { buttons, .. } = self else { return None };
        Some(buttons)
    }

    /// Whether its text or its caption is formatted.
    pub fn is_formatted(&self) -> bool {
        self.entities().or(self.caption_entities()).is_some_and(|entities| !entities.is_empty())
    }

    /// How its caption is formatted, if it is.
    pub fn caption_entities(&self) -> Option<&[Entity]> {
        let entities = self.file().map(|file| file.caption.entities.as_slice());
        entities.filter(|entities| !entities.is_empty())
    }

    /// How its text is formatted, if it is.
    pub fn entities(&self) -> Option<&[Entity]> {
        let (Self::Formatted(text) | Self::Question { text, .. }) = self else { return None };
        Some(&text.entities)
    }
}
