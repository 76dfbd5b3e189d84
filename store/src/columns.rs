//! Reads typed values from columns.

use std::error::Error;
use std::str::FromStr;

use channel::Chat;
use channel::content::{Content, File, FileBody, Media, StoredFile};
use channel::formatting::{Entity, FormattedText};
use protocol::{MessageId, TaskId};
use serde::de::DeserializeOwned;

use super::sql::{self, Row};

pub(super) fn task_id(row: &Row<'_>, column: usize) -> sql::Result<TaskId> {
    parsed(row, column)
}

/// Reads an ID from a column that may be null. One that is none of ours is left out.
pub(super) fn known<T: FromStr>(row: &Row<'_>, column: usize) -> sql::Result<Option<T>> {
    Ok(row.get::<Option<String>>(column)?.and_then(|id| id.parse().ok()))
}

/// Reads a message's ID from a column that may be null.
pub(super) fn message_id(row: &Row<'_>, column: usize) -> sql::Result<Option<MessageId>> {
    Ok(row.get::<Option<String>>(column)?.map(MessageId::from))
}

/// Reads a chat from a column with its channel and the next one with its ID.
pub(super) fn chat(row: &Row<'_>, column: usize) -> sql::Result<Chat> {
    Ok(Chat { channel: parsed(row, column)?, id: row.get(column + 1)? })
}

/// Reads a content from eleven columns: kind, text, target, file name, file ID, entities, is_big, size,
/// buttons, entities of the caption, media.
pub(super) fn content(row: &Row<'_>, first: usize) -> sql::Result<Content> {
    let (kind, text): (String, String) = (row.get(first)?, row.get(first + 1)?);
    let file = |text| {
        let caption = FormattedText { text, entities: json(row, first + 9)?.unwrap_or_default() };
        let size_bytes: i64 = row.get(first + 7)?;
        let size_bytes = u64::try_from(size_bytes).unwrap_or_default();
        let body = FileBody::Stored(StoredFile { id: row.get(first + 4)?, size_bytes });
        let media: Option<String> = row.get(first + 10)?;
        let media = media.and_then(|name| Media::ALL.into_iter().find(|media| media.name() == name));
        Ok::<_, sql::Error>(File { name: row.get(first + 3)?, caption, body, media })
    };
    let target = || row.get::<String>(first + 2).map(MessageId::from);
    Ok(match kind.as_str() {
        "edit" => Content::Edit { message_id: target()?, text },
        "document" => Content::Document(file(text)?),
        "voice" => Content::Voice(file(text)?),
        "reaction" => Content::Reaction { message_id: target()?, emoji: text, is_big: row.get(first + 6)? },
        _ => match json::<Vec<Entity>>(row, first + 5)? {
            entities if row.get_ref(first + 8)? != sql::ValueRef::Null => {
                let text = FormattedText { text, entities: entities.unwrap_or_default() };
                Content::Question { text, buttons: json(row, first + 8)?.unwrap_or_default() }
            }
            Some(entities) => Content::Formatted(FormattedText { text, entities }),
            None => Content::Text(text),
        },
    })
}

/// Reads JSON from a column that may be null.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> sql::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| sql::Error::unreadable(column, error))
}

pub(super) fn parsed<T: FromStr<Err: Error + Send + Sync + 'static>>(
    row: &Row<'_>,
    column: usize,
) -> sql::Result<T> {
    row.text(column)?.parse().map_err(|error| sql::Error::unreadable(column, error))
}
