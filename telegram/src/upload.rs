//! Forms with files: their bytes are read from the database while they leave, so that none is in memory as a
//! whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use channel::content::{File, FileBody, Media, StoredFile, StoredFiles};
use futures_util::{Stream, stream};
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::json;

use super::translate::Place;

/// Files may take longer: 50 MB at 170 kB a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// The fields that are read of a sent message.
#[derive(Deserialize)]
pub(super) struct SentMessage {
    pub(super) message_id: i64,
}

/// A file and its caption.
pub(super) fn form(files: &Arc<dyn StoredFiles>, place: Place, field: &'static str, file: &File) -> Form {
    let mut form = to(place);
    if !file.caption.text.is_empty() {
        form = form.text("caption", file.caption.text.clone());
    }
    if !file.caption.entities.is_empty() {
        form = form.text("caption_entities", json!(file.caption.entities).to_string());
    }
    if file.media == Some(Media::Video) {
        form = form.text("supports_streaming", "true");
    }
    form.part(field, part(files, file))
}

/// The beginning of a form: where it goes.
pub(super) fn to(place: Place) -> Form {
    let form = Form::new().text("chat_id", place.chat.to_string());
    match place.topic {
        Some(topic) => form.text("message_thread_id", topic.to_string()),
        None => form,
    }
}

/// A file as a part of a form.
pub(super) fn part(files: &Arc<dyn StoredFiles>, file: &File) -> Part {
    let part = match &file.body {
        FileBody::Bytes(bytes) => Part::bytes(bytes.clone()),
        FileBody::Stored(stored) => {
            let bytes = Body::wrap_stream(parts(Arc::clone(files), stored));
            Part::stream_with_length(bytes, stored.size_bytes)
        }
    };
    part.file_name(file.name.clone())
}

/// The bytes of a stored file, read from the database as they are asked for.
fn parts(files: Arc<dyn StoredFiles>, file: &StoredFile) -> impl Stream<Item = io::Result<Vec<u8>>> + use<> {
    let id = file.id.clone();
    stream::try_unfold(0, move |number| {
        let (files, id) = (Arc::clone(&files), id.clone());
        async move {
            let part = files.part(&id, number).await?;
            Ok(part.map(|part| (part, number + 1)))
        }
    })
}
