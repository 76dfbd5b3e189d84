//! Albums (<https://core.telegram.org/bots/api#sendmediagroup>): which files are shown together, and the call
//! that sends them.
//!
//! Telegram takes all files of an album or none. What it does not take is sent file by file.

use std::sync::Arc;

use channel::content::{Content, File, Media, StoredFiles};
use serde_json::{Value, json};

use super::api::{Api, CallError, Refusal};
use super::translate::Place;
use super::upload::{self, SentMessage};

const MAX_FILES: usize = 10;

/// What Telegram takes of a bot in one request, with room for what is around the files.
const MAX_BYTES: u64 = 50_000_000;

/// Files in order, each as a part of the longest album that can be made there, or by itself.
pub(super) fn together(files: Vec<File>) -> Vec<Content> {
    let mut albums: Vec<Vec<File>> = Vec::new();
    for file in files {
        match albums.last_mut().filter(|album| takes(album, &file)) {
            Some(album) => album.push(file),
            None => albums.push(vec![file]),
        }
    }
    let content = |mut album: Vec<File>| match album.len() {
        1 => Content::Document(album.remove(0)),
        _ => Content::Album(album),
    };
    albums.into_iter().map(content).collect()
}

/// Photos and videos are shown together; audio and documents are each among themselves.
fn takes(album: &[File], file: &File) -> bool {
    let kind = |file: &File| match file.media {
        Some(Media::Photo | Media::Video) => Some(Media::Photo),
        other => other,
    };
    let bytes = album.iter().chain([file]).map(|file| file.body.size_bytes()).sum::<u64>();
    album.len() < MAX_FILES && album.iter().all(|one| kind(one) == kind(file)) && bytes <= MAX_BYTES
}

/// Sends an album, and returns the numbers of its messages.
pub(super) async fn send(
    api: &Api,
    files: &Arc<dyn StoredFiles>,
    place: Place,
    album: &[File],
) -> Result<Vec<i64>, CallError> {
    let media: Value = album.iter().enumerate().map(|(number, file)| described(number, file)).collect();
    let mut form = upload::to(place).text("media", media.to_string());
    for (number, file) in album.iter().enumerate() {
        form = form.part(part_name(number), upload::part(files, file));
    }
    let sent: Vec<SentMessage> = api.upload("SendMediaGroup", form, upload::PATIENCE).await?;
    Ok(sent.into_iter().map(|message| message.message_id).collect())
}

/// A file as `InputMedia`, which names the part of the form with its bytes.
fn described(number: usize, file: &File) -> Value {
    let kind = file.media.map_or("document", Media::name);
    let mut media = json!({"type": kind, "media": format!("attach://{}", part_name(number))});
    if !file.caption.text.is_empty() {
        media["caption"] = json!(file.caption.text);
    }
    if !file.caption.entities.is_empty() {
        media["caption_entities"] = json!(file.caption.entities);
    }
    if file.media == Some(Media::Video) {
        media["supports_streaming"] = json!(true);
    }
    media
}

fn part_name(number: usize) -> String {
    format!("file{number}")
}

/// Whether Telegram refused an album for what it is: one of its files or its caption, or it is too large.
pub(super) fn is_refused(content: &Content, error: &CallError) -> bool {
    matches!(content, Content::Album(_))
        && matches!(error, CallError::Refused(Refusal { code: 400 | 413, migrated_to: None, .. }))
}

#[cfg(test)]
mod tests {
    use channel::content::{FileBody, StoredFile};
    use channel::formatting::FormattedText;

    use super::*;

    const PHOTO: Option<Media> = Some(Media::Photo);
    const VIDEO: Option<Media> = Some(Media::Video);
    const AUDIO: Option<Media> = Some(Media::Audio);

    fn file((media, size_bytes): (Option<Media>, u64)) -> File {
        let body = FileBody::Stored(StoredFile { id: "a".to_owned(), size_bytes });
        File { name: "a".to_owned(), caption: FormattedText::plain(""), body, media }
    }

    #[test]
    fn files_in_order_become_the_longest_albums_that_telegram_takes() {
        for (files, expected) in [
            (vec![], vec![]),
            (vec![(PHOTO, 1)], vec![1]),
            (vec![(PHOTO, 1), (VIDEO, 1), (PHOTO, 1)], vec![3]),
            (vec![(AUDIO, 1), (AUDIO, 1), (None, 1), (None, 1)], vec![2, 2]),
            (vec![(PHOTO, 1), (None, 1), (PHOTO, 1)], vec![1, 1, 1]),
            (vec![(AUDIO, 1), (VIDEO, 1), (VIDEO, 1)], vec![1, 2]),
            (vec![(PHOTO, 1); 11], vec![10, 1]),
            (vec![(VIDEO, 25_000_000); 3], vec![2, 1]),
            (vec![(VIDEO, 25_000_001); 2], vec![1, 1]),
            (vec![(VIDEO, u64::from(u32::MAX)); 2], vec![1, 1]),
        ] {
            let described = format!("{files:?}");
            let sizes: Vec<usize> = together(files.into_iter().map(file).collect())
                .iter()
                .map(|content| match content {
                    Content::Album(files) => files.len(),
                    other => usize::from(other.file().is_some()),
                })
                .collect();
            assert_eq!(sizes, expected, "{described}");
        }
    }
}
