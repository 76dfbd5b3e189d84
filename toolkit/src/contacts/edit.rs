//! Changes the one field that a program writes, and leaves every other byte as it is.

use super::block::{Block, Field, Value};
use super::{BlockError, sections};

const FIELD: &str = "cooldown_until";

/// Why the field was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no such contact.
    #[error("the contact is not in the file any more")]
    Unknown,
    /// The block is written in a way that is read but not changed.
    #[error("{0}")]
    Unusual(String),
}

/// The file with another `cooldown_until` of a contact; none removes the present one. None if the file
/// already says so.
///
/// # Errors
/// If the contact is not found, or its block is not a plain list of lines.
pub fn with_cooldown(text: &str, contact_id: &str, until: Option<&str>) -> Result<Option<String>, EditError> {
    for section in sections(text) {
        let Ok(block) = section.read(text) else { continue };
        let Ok(contact) = block.contact(&section.heading) else { continue };
        if contact.contact_id != contact_id {
            continue;
        }
        if contact.cooldown_until.as_deref() == until {
            return Ok(None);
        }
        let content = section.content.clone().ok_or(EditError::Unknown)?;
        let changed = changed(&block, until).map_err(|error| {
            EditError::Unusual(format!("line {} of its block: {}", error.line, error.what))
        })?;
        return Ok(Some([&text[..content.start], &changed, &text[content.end..]].concat()));
    }
    Err(EditError::Unknown)
}

fn changed(block: &Block<'_>, until: Option<&str>) -> Result<String, BlockError> {
    if !block.has_lines {
        return Err(BlockError::new(1, "its fields are between braces: write each in a line"));
    }
    match block.field(FIELD) {
        Some(field) => replaced(block, field, until.unwrap_or("null")),
        None => Ok(added(block, until.unwrap_or("null"))),
    }
}

/// The block with another value in the field's line.
fn replaced(block: &Block<'_>, field: &Field, value: &str) -> Result<String, BlockError> {
    let unusual = || BlockError::new(field.at.line, format!("`{FIELD}` does not stand in one line"));
    let line = block.lines().nth(field.at.line - 1).ok_or_else(unusual)?;
    let from = match &field.value {
        Value::One { from, .. } if from.line == field.at.line => {
            line.char_indices().nth(from.column).ok_or_else(unusual)?.0
        }
        // An absent field may have no place of its own: it goes behind the colon.
        Value::Null => line.find(':').ok_or_else(unusual)? + 1,
        Value::One { .. } | Value::Many(_) | Value::Deeper => return Err(unusual()),
    };
    let (head, rest) = line.split_at(from);
    let old = rest.trim_start_matches([' ', '\t']);
    let tail = &old[length(old).ok_or_else(unusual)?..];
    let gap = if head.ends_with(':') { " " } else { "" };
    let comment = if tail.starts_with('#') { " " } else { "" };
    let changed = [head, gap, value, comment, tail].concat();
    let other = |(number, line)| if number == field.at.line { changed.as_str() } else { line };
    Ok((1..).zip(block.lines()).map(other).collect())
}

/// The length of the value at the beginning of a line; none if it does not end there.
fn length(text: &str) -> Option<usize> {
    let end = match text.chars().next() {
        Some('\'') => {
            let pieces = text[1..].replace("\'\'", "..");
            pieces.find('\'')? + 2
        }
        Some('"') => {
            let mut characters = text.char_indices().skip(1);
            loop {
                match characters.next()? {
                    (_, '\\') => drop(characters.next()),
                    (at, '"') => break at + 1,
                    _ => {}
                }
            }
        }
        Some('|' | '>') => return None,
        Some('#') => 0,
        _ => text.find(" #").unwrap_or(text.len()).min(text.trim_end().len()),
    };
    Some(text[..end].trim_end().len())
}

/// The block with the field as its last line.
fn added(block: &Block<'_>, value: &str) -> String {
    let mut text: String = block.lines().collect();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !text.ends_with('\n') {
        text.push_str(end);
    }
    let indent = block.fields.first().map_or(0, |field| field.at.column);
    text.push_str(&format!("{}{FIELD}: {value}{end}", " ".repeat(indent)));
    text
}
