//! What a channel is: a way for messages to come in and for replies to go out.
//!
//! The store, the dispatcher and the control port know channels by this module alone, which imports nothing
//! of theirs. To add a channel, implement [`Channel`] in a folder of `channels/` and add a line to the list
//! in `run.rs`.

pub(crate) mod attachment;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod sign;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::{MessageId, ReplyFormat};
use tokio_util::sync::CancellationToken;

pub(crate) use chat::{ChannelName, Chat};
pub(crate) use content::Content;
use sign::{Shown, Sign};

/// A future behind a pointer, so that channels can be kept in one list.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Channel: Send + Sync {
    /// Its name in the tables and in session IDs.
    fn name(&self) -> ChannelName;

    /// How its replies reach their chats in this run.
    fn delivery(&self) -> Delivery;

    /// Receives messages into the store until `stop`.
    fn receive(&self, stop: CancellationToken) -> BoxFuture<'_, ()>;

    /// The messages that a reply is sent as, in order; `format` says how it is written.
    fn decorate(&self, reply: &str, format: ReplyFormat) -> Vec<Content>;

    /// Checks a message that somebody wants to send to a chat, and returns the messages that it is sent as.
    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection>;

    /// How fast it takes messages.
    fn limits(&self) -> SendLimits {
        SendLimits::NONE
    }

    /// The chat whose limits a chat shares: itself, unless it is a part of one.
    fn limited_as<'a>(&self, chat_id: &'a str) -> &'a str {
        chat_id
    }

    /// Who a chat is for.
    fn audience(&self, chat_id: &str) -> Audience {
        let _ = chat_id;
        Audience::Person
    }

    /// A chat has another ID from now on, and the same rights.
    fn moved(&self, from: &str, to: &str) {
        let _ = (from, to);
    }

    /// Whether chats see signs of life.
    fn shows_signs(&self) -> bool {
        false
    }

    /// Shows a sign of life, or tries to.
    fn show<'a>(&'a self, chat_id: &'a str, sign: &'a Sign) -> BoxFuture<'a, Shown> {
        let _ = (chat_id, sign);
        Box::pin(std::future::ready(Shown::Never))
    }

    /// The private chats of those who decide about calls that wait for a person.
    fn approvers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether one of them is in a chat.
    fn has_approver<'a>(&'a self, chat_id: &'a str) -> BoxFuture<'a, bool> {
        let _ = chat_id;
        Box::pin(std::future::ready(false))
    }

    /// From now on a chat is allowed by pairing, or no longer.
    fn set_paired(&self, chat_id: &str, is_paired: bool) {
        let _ = (chat_id, is_paired);
    }

    /// The chats that its settings allow.
    fn configured_chats(&self) -> Vec<String> {
        Vec::new()
    }

    /// Sends one message; `attempt` counts from 1.
    fn send<'a>(&'a self, chat_id: &'a str, content: &'a Content, attempt: u32)
    -> BoxFuture<'a, SendOutcome>;
}

/// How the replies of a channel reach their chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// `channels/sender.rs` sends the rows of the outbox.
    Push,
    /// The client fetches replies: one that is stored counts as sent.
    Pull,
    /// The channel is not configured: replies wait in the outbox for a run in which it is.
    Off,
}

/// How fast a channel takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// In all chats together.
    pub per_second: usize,
    /// From the beginning of one message in a chat to that of the next.
    pub pause_in_chat: Duration,
    pub per_minute_in_group: usize,
}

impl SendLimits {
    /// As fast as messages come.
    pub const NONE: Self =
        Self { per_second: usize::MAX, pause_in_chat: Duration::ZERO, per_minute_in_group: usize::MAX };
}

/// Who a chat is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Person,
    Group,
    /// A sender that the bot does nothing for: such notices leave after all others.
    Stranger,
}

/// What became of an attempt to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    Sent {
        /// Its ID in the chat, if the channel gives one.
        message_id: Option<MessageId>,
    },
    /// Try again after a pause.
    Retry { error: String, pause: Duration },
    /// The chat has another ID: send it there.
    Moved { chat_id: String },
    /// It will never be sent.
    GiveUp { error: String },
}

/// Why a channel does not accept an outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The channel is not configured.
    Off {
        hint: &'static str,
    },
    ChatNotAllowed {
        hint: &'static str,
    },
    /// The message or the chat's ID is invalid.
    Invalid(String),
}

/// All channels of a run.
#[derive(Clone)]
pub struct Channels(Arc<[Arc<dyn Channel>]>);

impl Channels {
    /// A list of channels.
    pub fn new(channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Self {
        Self(channels.into_iter().collect())
    }

    /// Each channel.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Channel>> {
        self.0.iter()
    }

    /// The channel of this name. The database may hold chats of a channel that this program does not have.
    pub fn get(&self, name: &ChannelName) -> Option<&Arc<dyn Channel>> {
        self.iter().find(|channel| channel.name() == *name)
    }

    /// The channel for messages that people send through the control port: the first one that is not pulled.
    pub fn outgoing(&self) -> Option<&Arc<dyn Channel>> {
        self.iter().find(|channel| channel.delivery() != Delivery::Pull)
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter().map(|channel| channel.name())).finish()
    }
}
