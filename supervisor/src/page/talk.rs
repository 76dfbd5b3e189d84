//! `/chat` and `/chat/{chat}`: the page as a channel. What is written goes through the reception, like the
//! messages of every channel.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Multipart, Path, Query, State};
use axum::http::HeaderValue;
use axum::response::{Html, Redirect, Response};
use channel::Chat;
use channel::update::{Incoming, Kind, Update};
use maud::Markup;
use page::talk::{CHANNEL, Talk, chats, talk};
use page::{Frame, Place, encoded};
use protocol::{EventId, MessageId, TaskId, now_ms};
use serde::Deserialize;
use store::page_files;
use store::queries::page as queries;

use super::actions::Told;
use super::approvals;
use super::error::PageError;
use super::now::running;
use super::read::read;
use super::show::{shown, still, to_save};
use super::upload::{self, Message};
use crate::channels::local::is_chat_name;
use crate::channels::page::{NAME, parts as parts_of};
use crate::control::Control;
use crate::reception::Reception;

/// So many messages of a chat are shown.
const MOST_SAID: u32 = 100;

const MOST_CHATS: u32 = 200;

const NAME_HINT: &str = "A name begins with a letter and has at most 64 letters, digits, `.`, `_` and `-`.";

pub(super) async fn get_chats(State(control): State<Arc<Control>>) -> Result<Html<String>, PageError> {
    let known = read(&control, |connection| queries::chats(connection, MOST_CHATS)).await?;
    Ok(still("Talk", Place::Talk, &chats(&known)))
}

#[derive(Deserialize)]
pub(super) struct Open {
    chat: String,
}

pub(super) async fn open_chat(Query(Open { chat }): Query<Open>) -> Result<Redirect, PageError> {
    Ok(Redirect::to(&format!("/chat/{}", encoded(named(&chat)?))))
}

pub(super) async fn get_chat(
    State(control): State<Arc<Control>>,
    Path(chat): Path<String>,
    Query(told): Query<Told>,
) -> Result<Html<String>, PageError> {
    named(&chat)?;
    let view = load(&control, &chat).await?;
    let (title, live) = (format!("Talk: {chat}"), format!("/live/chat/{}", encoded(&chat)));
    let frame = Frame { title: &title, place: Place::Talk, live: Some(&live), notice: told.notice() };
    Ok(shown(&frame, &talk(&view)))
}

/// The part of a chat that changes.
pub(super) async fn parts(control: &Control, chat: &str) -> Result<Vec<(&'static str, Markup)>, PageError> {
    Ok(page::talk::parts(&load(control, named(chat)?).await?))
}

async fn load(control: &Control, name: &str) -> Result<Talk, PageError> {
    let chat = Chat::new(NAME, name);
    let (of_chat, id) = (chat.clone(), name.to_owned());
    let read = read(control, move |connection| {
        let mut all = running(connection, &[NAME])?;
        all.retain(|one| one.task.chat_id == id);
        Ok((queries::said(connection, &of_chat, MOST_SAID)?, all.pop()))
    });
    let (said, running) = read.await?;
    let growing = running.as_ref().and_then(|running| control.words.of(&running.activity.task));
    let growing = growing.map(|said| said.text.as_ref().to_owned()).filter(|text| !text.is_empty());
    let waits = running.as_ref().is_some_and(|running| running.activity.waits_for_person);
    let mut waiting = if waits { approvals::pending(control).await.unwrap_or_default() } else { Vec::new() };
    waiting.retain(|one| one.session == chat.session());
    Ok(Talk { chat: name.to_owned(), said, running, growing, waiting, now_ms: now_ms() })
}

pub(super) async fn post_message(
    State(control): State<Arc<Control>>,
    Path(chat): Path<String>,
    form: Multipart,
) -> Result<Redirect, PageError> {
    named(&chat)?;
    let mut message = Message::default();
    let taken = async {
        upload::read(&control, form, &mut message).await?;
        if message.text.trim().is_empty() && message.files.is_empty() {
            return Err(PageError::invalid("The message is empty.", "Write something, or choose a file."));
        }
        receive(&control, &chat, &message).await
    };
    let taken = taken.await;
    if taken.is_err() {
        let ids: Vec<String> = message.files.into_iter().map(|file| file.source).collect();
        let delete =
            move |tx: &store::sql::Connection| ids.iter().try_for_each(|id| page_files::delete(tx, id));
        control.store.write(delete).await?;
    }
    taken.map(|()| Redirect::to(&format!("/chat/{}", encoded(&chat))))
}

async fn receive(control: &Arc<Control>, chat: &str, message: &Message) -> Result<(), PageError> {
    // A browser sends the ends of lines as CRLF.
    let text = message.text.replace("\r\n", "\n");
    let mut incoming = Incoming::text(text.trim(), now_ms() / 1000);
    incoming.files.clone_from(&message.files);
    let message_id = MessageId::from(EventId::new().to_string());
    let kind = Kind::Message(Box::new(incoming));
    let update = Update { id: None, chat: Chat::new(NAME, chat), message_id: Some(message_id), kind };
    let channel = control.channels.get(&NAME).ok_or_else(|| PageError::missing(CHANNEL))?;
    let mut reception = Reception::new(Arc::clone(channel), control.inbound.clone());
    let stored: Vec<TaskId> = reception.receive(vec![update], None, false).await?;
    tracing::debug!(?stored, "a message came by the page");
    Ok(())
}

/// A file of a message, to be saved and never shown: its content is not ours.
pub(super) async fn get_file(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let of_file = id.clone();
    let found = control.store.write(move |tx| page_files::find(tx, &of_file)).await?;
    let file = found.ok_or_else(|| PageError::missing("file"))?;
    let body = Body::from_stream(parts_of(control.store.clone(), id));
    Ok(to_save(&file.name, Some(HeaderValue::from(file.size_bytes)), body))
}

fn named(chat: &str) -> Result<&str, PageError> {
    is_chat_name(chat)
        .then_some(chat)
        .ok_or_else(|| PageError::invalid("This is no name of a chat.", NAME_HINT))
}
