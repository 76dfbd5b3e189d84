//! `GET /nodes`, `POST /nodes/drain`, `POST /nodes/resume` and `POST /chats/move`: the machines that share
//! the database, and which of them a chat is on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use channel::Chat;
use serde::{Deserialize, Serialize};
use store::StoreError;
use store::nodes::{self, Drained, Node, Refusal};
use store::sql::Connection;

use super::body::{self, Body};
use super::error::ControlError;
use super::{BY, Control};

const NODE_HINT: &str = "Send {\"node\": \"…\"}; GET /nodes lists them.";
const MOVE_HINT: &str = "Send {\"chat\": \"telegram:4711\", \"node\": \"…\"}; GET /nodes lists the nodes.";

/// What `GET /nodes` responds with: none where the database is a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Nodes {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeRequest {
    pub node: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// `<channel>:<ID>`, or the ID alone where no other chat has it.
    pub chat: String,
    pub node: String,
}

pub(crate) async fn get_nodes(State(control): State<Arc<Control>>) -> Result<Json<Nodes>, ControlError> {
    Ok(Json(Nodes { nodes: control.store.write(nodes::all).await? }))
}

/// New chats go elsewhere from now on, and so do those whose files the others have.
pub(crate) async fn post_drain(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Drained>, ControlError> {
    let NodeRequest { node } = body::parse(&headers, body, NODE_HINT)?;
    let run = control.run.clone();
    let drained = control.store.write(move |tx| nodes::drain(tx, &node, BY, &run)).await?;
    Ok(Json(drained.map_err(ControlError::Node)?))
}

/// A node that was drained takes new chats again.
pub(crate) async fn post_resume(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<NodeRequest>, ControlError> {
    let NodeRequest { node } = body::parse(&headers, body, NODE_HINT)?;
    let named = node.clone();
    let resumed = control.store.write(move |tx| nodes::resume(tx, &named)).await?;
    resumed.map_err(ControlError::Node)?;
    Ok(Json(NodeRequest { node }))
}

/// Moves a chat to another node. Its files do not move.
pub(crate) async fn post_move(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<MoveRequest>, ControlError> {
    let MoveRequest { chat, node } = body::parse(&headers, body, MOVE_HINT)?;
    let run = control.run.clone();
    let moved = control.store.write(move |tx| {
        let found = match find(tx, &chat)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let moved = nodes::move_chat(tx, &found, &node, BY, &run)?;
        Ok(moved.map(|()| MoveRequest { chat: found.address(), node }))
    });
    Ok(Json(moved.await?.map_err(ControlError::Node)?))
}

/// The chat of an address or an ID.
fn find(tx: &Connection, named: &str) -> Result<Result<Chat, Refusal>, StoreError> {
    if tx.node().is_none() {
        return Ok(Err(Refusal::OneNode));
    }
    let mut fitting: Vec<Chat> = nodes::of_chats(tx)?.into_iter().map(|(chat, _)| chat).collect();
    fitting.retain(|chat| chat.address() == named || chat.id == named);
    Ok(match (fitting.pop(), fitting.is_empty()) {
        (Some(chat), true) => Ok(chat),
        _ => Err(Refusal::NoSuchChat(named.to_owned())),
    })
}
