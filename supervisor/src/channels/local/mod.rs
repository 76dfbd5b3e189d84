//! The local channel: the control port and `supervisor chat`. It works without any account.
//!
//! Messages come in over `POST /messages`; the sender fetches the reply.

pub mod messages;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use channel::update_sink::UpdateSink;
use channel::{Access, BoxFuture, Channel, ChannelName, Content, Delivery, Outgoing, Rejection, SendOutcome};
use protocol::ReplyFormat;
use texts::Language;
use tokio_util::sync::CancellationToken;

use crate::control::Control;

pub(crate) const NAME: ChannelName = ChannelName::new("local");

const MAX_CHAT_BYTES: usize = 64;

#[derive(Debug)]
pub(crate) struct Local(Access);

impl Default for Local {
    fn default() -> Self {
        Self(Access::without_lists(true))
    }
}

impl Channel for Local {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        Delivery::Pull
    }

    /// All chats: who writes has the control port's token.
    fn access(&self) -> &Access {
        &self.0
    }

    /// The control port receives.
    fn receive(self: Arc<Self>, _: Box<dyn UpdateSink>, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(stop.cancelled_owned())
    }

    /// A terminal shows Markdown as it is written.
    fn decorate(&self, reply: &str, _: ReplyFormat, _: Language) -> Vec<Content> {
        vec![Content::Text(reply.to_owned())]
    }

    fn prepare(&self, _: &str, _: Content) -> Result<Vec<Content>, Rejection> {
        Err(Rejection::Invalid("a local chat only gets replies to its own messages".to_owned()))
    }

    /// Never asked for: a reply that is stored counts as sent.
    fn send<'a>(&'a self, _: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        Box::pin(std::future::ready(SendOutcome::Sent { message_ids: Vec::new() }))
    }
}

/// The channel's routes on the control port.
pub(crate) fn routes() -> Router<Arc<Control>> {
    Router::new()
        .route("/messages", post(messages::post_message))
        .route("/messages/{task_id}", get(messages::get_message))
        .route("/messages/{task_id}/words", get(messages::get_words))
}

/// Whether a text can name a local chat: a letter, then letters, digits, `.`, `_` and `-`.
pub(crate) fn is_chat_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= MAX_CHAT_BYTES
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_chat_cannot_take_the_id_of_a_telegram_chat() {
        for bad in ["", "42", "-42", "a b", "ä", "a/b", &"a".repeat(65)] {
            assert!(!is_chat_name(bad), "{bad:?}");
        }
        assert!(is_chat_name("local") && is_chat_name("build-7.x_y"));
    }
}
