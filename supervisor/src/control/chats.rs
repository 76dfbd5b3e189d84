//! `GET /chats`, `POST /pair` and `POST /unpair`: the chats that may write, and those that want to.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use channel::{Channel, Channels, Chat};
use serde::{Deserialize, Serialize};
use store::StoreError;
use store::nodes;
use store::pairing::{self, KnownChat, Paired};
use store::sql::Connection;

use super::body::{self, Body};
use super::error::ControlError;
use super::{BY, Control};
use crate::strangers;

const PAIR_HINT: &str = "Send {\"code\": \"…\"}, the code that the bot answered with.";
const UNPAIR_HINT: &str = "Send {\"chat\": \"4711\"}; GET /chats lists them.";

/// What `GET /chats` responds with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Chats {
    pub chats: Vec<ListedChat>,
}

/// A chat that may write, or wants to.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListedChat {
    pub channel: String,
    pub chat: String,
    pub allowed: AllowedBy,
    /// What people call it; none if only its number is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was paired, or got its code, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// The node that has its files, where several share the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What `POST /pair` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedBy {
    Settings,
    Pairing,
    /// It waits for somebody to pair its code.
    Nobody,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    pub code: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnpairRequest {
    pub chat: String,
}

pub(crate) async fn get_chats(State(control): State<Arc<Control>>) -> Result<Json<Chats>, ControlError> {
    let channels = control.channels.clone();
    Ok(Json(control.store.write(move |tx| list(tx, &channels)).await?))
}

/// Allows the chat that a code was given to, from now on.
pub(crate) async fn post_pair(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Paired>, ControlError> {
    let PairRequest { code } = body::parse(&headers, body, PAIR_HINT)?;
    let run = control.run.clone();
    let paired = control.store.write(move |tx| pairing::pair(tx, &code, BY, &run)).await?;
    let known = paired.ok_or(ControlError::NoSuchCode)?;
    let paired = summary(&known);
    if let Some(channel) = control.channels.get(&known.chat.channel) {
        // The sender holds back messages for strangers, so the permission comes before the welcome.
        channel.access().set_paired(&known.chat.id, true);
        let (run, delivery) = (control.run.clone(), channel.delivery());
        let owner = channel.access().owner().map(|owner| Chat::new(channel.name(), &owner));
        let write = control.store.write(move |tx| {
            pairing::welcome(tx, &known, delivery, &run)?;
            owner.iter().try_for_each(|owner| strangers::ask_next(tx, owner, &run))
        });
        write.await?;
    }
    Ok(Json(paired))
}

/// Takes a pairing back, and cancels what the chat has asked for.
pub(crate) async fn post_unpair(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<UnpairRequest>, ControlError> {
    let UnpairRequest { chat } = body::parse(&headers, body, UNPAIR_HINT)?;
    let (id, run) = (chat.clone(), control.run.clone());
    let unpaired = control.store.write(move |tx| pairing::unpair(tx, &id, BY, &run)).await?;
    if let Some(unpaired) = unpaired {
        if let Some(channel) = control.channels.get(&unpaired.channel) {
            channel.access().set_paired(&unpaired.id, false);
        }
        control.inbound.cancel_signal.send_replace(());
        return Ok(Json(UnpairRequest { chat }));
    }
    Err(refusal(&control.channels, &chat))
}

/// Why a pairing cannot be taken back.
pub fn refusal(channels: &Channels, chat: &str) -> ControlError {
    let is_configured =
        channels.iter().any(|channel| channel.access().configured().iter().any(|id| id == chat));
    if is_configured { ControlError::ChatConfigured } else { ControlError::NoSuchPairing }
}

pub fn summary(known: &KnownChat) -> Paired {
    let channel = known.chat.channel.as_str().to_owned();
    Paired { channel, chat: known.chat.id.clone(), title: known.title.clone() }
}

/// Those of the settings, those that were paired, and those that have a code.
pub fn list(connection: &Connection, channels: &Channels) -> Result<Chats, StoreError> {
    let of_channel = |channel: &Arc<dyn Channel>| {
        let name = channel.name().as_str().to_owned();
        let listed = move |chat| ListedChat {
            channel: name.clone(),
            chat,
            allowed: AllowedBy::Settings,
            title: None,
            since_ms: None,
            node: None,
            code: None,
        };
        channel.access().configured().into_iter().map(listed).collect::<Vec<_>>()
    };
    let mut chats: Vec<ListedChat> = channels.iter().flat_map(of_channel).collect();
    let paired = pairing::paired(connection)?.into_iter();
    chats.extend(paired.map(|known| listed(known, AllowedBy::Pairing)));
    let waiting = pairing::waiting(connection)?.into_iter();
    chats.extend(waiting.map(|known| listed(known, AllowedBy::Nobody)));
    let places: HashMap<Chat, String> = nodes::of_chats(connection)?.into_iter().collect();
    for listed in &mut chats {
        let chat = listed.channel.parse().ok().map(|channel| Chat::new(channel, &listed.chat));
        listed.node = chat.and_then(|chat| places.get(&chat).cloned());
    }
    Ok(Chats { chats })
}

fn listed(known: KnownChat, allowed: AllowedBy) -> ListedChat {
    ListedChat {
        channel: known.chat.channel.as_str().to_owned(),
        chat: known.chat.id,
        allowed,
        title: Some(known.title),
        since_ms: Some(known.since_ms),
        node: None,
        code: (allowed == AllowedBy::Nobody).then_some(known.note),
    }
}
