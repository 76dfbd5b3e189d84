//! Reads the form of a message: its text, and files, which go into the database part by part.

use axum::extract::Multipart;
use axum::extract::multipart::{Field, MultipartError};
use channel::attachment::Attachment;
use store::page_files;

use super::error::PageError;
use crate::control::Control;

const MAX_FILES: usize = 10;

/// So much of a file is in memory at once.
const PART_BYTES: usize = 256 * 1024;

const HINT: &str = "A message has a text, and at most ten files with 50 MiB together.";

/// What somebody wants to send.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub text: String,
    pub files: Vec<Attachment>,
}

/// Reads a form. Files that were stored before an error are deleted by the caller, through `message`.
pub(super) async fn read(
    control: &Control,
    mut form: Multipart,
    message: &mut Message,
) -> Result<(), PageError> {
    while let Some(field) = form.next_field().await.map_err(unread)? {
        match field.name() {
            Some("text") => message.text = field.text().await.map_err(unread)?,
            // A browser sends an empty file where none was chosen.
            Some("files") if field.file_name().is_some_and(|name| !name.is_empty()) => {
                if message.files.len() == MAX_FILES {
                    return Err(PageError::invalid("These are more than ten files.", HINT));
                }
                store_file(control, field, message).await?;
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

async fn store_file(control: &Control, mut field: Field<'_>, message: &mut Message) -> Result<(), PageError> {
    let name = field.file_name().unwrap_or_default().to_owned();
    let media_type = field.content_type().map(str::to_owned);
    let of_file = name.clone();
    let begun = control.store.write(move |tx| page_files::begin(tx, &of_file));
    let id = begun.await?;
    message.files.push(Attachment {
        source: id.clone(),
        kind: "document".into(),
        media_type,
        file_name: Some(name),
        size_bytes: None,
    });
    let (mut number, mut begun, mut size) = (0, Vec::new(), 0);
    while let Some(chunk) = field.chunk().await.map_err(unread)? {
        size += chunk.len();
        begun.extend_from_slice(&chunk);
        if begun.len() >= PART_BYTES {
            add(control, &id, &mut number, std::mem::take(&mut begun)).await?;
        }
    }
    if !begun.is_empty() {
        add(control, &id, &mut number, begun).await?;
    }
    if let Some(file) = message.files.last_mut() {
        file.size_bytes = u64::try_from(size).ok();
    }
    Ok(())
}

async fn add(control: &Control, id: &str, number: &mut u32, bytes: Vec<u8>) -> Result<(), PageError> {
    let (id, place) = (id.to_owned(), *number);
    control.store.write(move |tx| page_files::add_part(tx, &id, place, &bytes)).await?;
    *number += 1;
    Ok(())
}

fn unread(error: MultipartError) -> PageError {
    PageError::Refused(error.status(), format!("The form could not be read: {}.", error.body_text()), HINT)
}
