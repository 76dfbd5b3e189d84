//! `sendMediaGroup` (<https://core.telegram.org/bots/api#sendmediagroup>): 2 to 10 files, all or none.

use std::time::Instant;

use serde_json::{Value, json};

use super::form::Form;
use super::media;
use super::state::{Sent, State, caption, entities_of, topic_of};

/// A file of an album.
struct Item {
    kind: String,
    text: String,
    entities: Value,
    file: (String, Vec<u8>),
}

/// Records the messages of an album, or returns why Telegram would refuse it.
pub(super) fn take(state: &mut State, form: &Form) -> Result<Value, String> {
    let parameters = &form.parameters;
    let chat_id = parameters["chat_id"].as_i64().ok_or("Bad Request: chat not found")?;
    let topic = topic_of(parameters)?;
    let media = parameters["media"].as_str().and_then(|media| serde_json::from_str(media).ok());
    let Some(Value::Array(media)) = media else {
        return Err("Bad Request: can't parse media JSON object".to_owned());
    };
    if media.len() > 10 {
        return Err("Bad Request: too much messages to send as an album".to_owned());
    }
    if media.len() < 2 {
        return Err("Bad Request: an album has at least 2 messages".to_owned());
    }
    let items = media.iter().map(|media| read(media, form)).collect::<Result<Vec<_>, _>>()?;
    for kind in ["document", "audio"] {
        if items.iter().any(|item| item.kind == kind) && !items.iter().all(|item| item.kind == kind) {
            return Err(format!("Bad Request: {kind} can't be mixed with other media types"));
        }
    }
    for (number, item) in (1..).zip(&items) {
        media::check(&format!("send{}", item.kind), &item.file.1).map_err(|why| {
            let why = why.trim_start_matches("Bad Request: ");
            format!("Bad Request: failed to send message #{number} with the error message \"{why}\"")
        })?;
    }
    let album = format!("album {}", state.next_number());
    Ok(items.into_iter().map(|item| record(state, (chat_id, topic), &album, item)).collect())
}

fn read(media: &Value, form: &Form) -> Result<Item, String> {
    let kind = media["type"].as_str().unwrap_or_default();
    if !["photo", "video", "audio", "document"].contains(&kind) {
        return Err(format!("Bad Request: can't parse InputMedia: type \"{kind}\" is unsupported"));
    }
    let file = media["media"].as_str().and_then(|named| form.attached(named));
    let file = file.ok_or("Bad Request: can't parse InputMedia: media not found")?;
    Ok(Item { kind: kind.to_owned(), text: caption(media)?, entities: entities_of(media), file })
}

fn record(state: &mut State, (chat_id, topic): (i64, Option<i64>), album: &str, item: Item) -> Value {
    let number = state.next_number();
    state.sent.push(Sent {
        chat_id,
        topic,
        method: "sendmediagroup".to_owned(),
        text: item.text,
        entities: item.entities,
        target: None,
        answers: None,
        file: Some(item.file),
        markup: Value::Null,
        is_progress: false,
        album: Some((album.to_owned(), item.kind)),
        number,
        at: Instant::now(),
    });
    let mut message = state.message(number);
    message["media_group_id"] = json!(album);
    message
}
