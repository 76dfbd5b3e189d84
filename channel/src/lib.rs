//! What a channel is: a way for messages to come in and for replies to go out.
//!
//! The store and the supervisor know channels by this crate alone, which imports nothing of theirs. To add a
//! channel, implement [`Channel`] in a folder of the supervisor's `channels/` and add a line to the list in
//! its `all_channels.rs`; one that outgrows a folder is a crate, as `telegram` is.

#![expect(missing_docs, reason = "comments are where a name is not enough")]

pub mod access;
pub mod attachment;
pub mod chat;
pub mod content;
pub mod download;
pub mod formatting;
pub mod reach;
pub mod sign;
pub mod update;
pub mod update_sink;

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::{MessageId, PersonId, ReplyFormat};
use settings::choices::Reactions;
use texts::{Language, Text};
use tokio_util::sync::CancellationToken;

pub use access::{Access, Audience};
pub use chat::{ChannelName, Chat};
pub use content::Content;
use content::File;
use download::{Download, NoDownload};
use reach::Reach;
use sign::{Shown, Sign, Stage};
use update::PressAnswer;
use update_sink::UpdateSink;

use crate::formatting::FormattedText;

/// A future behind a pointer, so that channels can be kept in one list.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Translates between a service and our types; the supervisor's `reception/` decides who may ask for what.
pub trait Channel: Send + Sync {
    /// Its name in the tables and in session IDs.
    fn name(&self) -> ChannelName;

    /// How its replies reach their chats in this run.
    fn delivery(&self) -> Delivery;

    /// Who may use it.
    fn access(&self) -> &Access;

    /// Which of the messages that waited while the supervisor was off are run; none if no messages wait.
    fn backlog(&self) -> Option<BacklogLimits> {
        None
    }

    /// How long somebody says nothing before what they sent is one task; zero where each message is one.
    fn quiet_time(&self) -> Duration {
        Duration::ZERO
    }

    /// Receives until `stop`, and gives everything to `sink`.
    fn receive(self: Arc<Self>, sink: Box<dyn UpdateSink>, stop: CancellationToken)
    -> BoxFuture<'static, ()>;

    /// Begins to download a file that a message brought, by the [`attachment::Attachment::source`] of it.
    fn download<'a>(&'a self, _source: &'a str) -> BoxFuture<'a, Result<Download, NoDownload>> {
        Box::pin(std::future::ready(Err(NoDownload::Never("The channel has no files.".to_owned()))))
    }

    /// The messages that a reply is sent as, in order; `format` says how it is written, and `language` is
    /// that of the chat.
    fn decorate(&self, reply: &str, format: ReplyFormat, language: Language) -> Vec<Content>;

    /// Checks a message that somebody wants to send to a chat, and returns the messages that it is sent as.
    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection>;

    /// The caption of a file that was written in Markdown.
    fn caption(&self, markdown: &str) -> FormattedText {
        FormattedText::plain(markdown)
    }

    /// The messages that files are sent as which belong together, in order: here, one after the other.
    fn together(&self, files: Vec<File>) -> Vec<Content> {
        files.into_iter().map(Content::Document).collect()
    }

    /// Sends one message, or those of an album.
    fn send<'a>(&'a self, outgoing: Outgoing<'a>) -> BoxFuture<'a, SendOutcome>;

    /// How fast it takes messages.
    fn limits(&self) -> SendLimits {
        SendLimits::NONE
    }

    /// Whether its service can be reached; always, where nothing is noted in it.
    fn reach(&self) -> Arc<Reach> {
        Arc::default()
    }

    /// Whether a chat shows drafts; where it does not, progress messages tell what is being written.
    fn has_drafts(&self, _chat_id: &str) -> bool {
        false
    }

    /// The end of a text that is being written in Markdown, with at most so many UTF-16 units.
    fn growing(&self, markdown: &str, max_units: usize) -> FormattedText {
        FormattedText::plain(formatting::end_of(markdown, max_units))
    }

    /// Shows a sign of life, or tries to.
    fn show<'a>(&'a self, _chat_id: &'a str, _sign: &'a Sign) -> BoxFuture<'a, Shown> {
        Box::pin(std::future::ready(Shown::Never))
    }

    /// Where it shows how far the task of a message is.
    fn reactions(&self) -> Reactions {
        Reactions::Off
    }

    /// Shows on a message how far its task is, or tries to.
    fn show_stage<'a>(&'a self, _: &'a str, _: &'a MessageId, _: Stage) -> BoxFuture<'a, Shown> {
        Box::pin(std::future::ready(Shown::Never))
    }

    /// Answers a press, so that its button stops waiting.
    fn answer(&self, _answer: PressAnswer) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The people who administer a group; none if that is not known.
    fn administrators<'a>(&'a self, _group: &'a str) -> BoxFuture<'a, Option<HashSet<PersonId>>> {
        Box::pin(std::future::ready(None))
    }

    /// Whether a person is in a group; not if that is not known.
    fn is_member<'a>(&'a self, _group: &'a str, _person: &'a PersonId) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// A message that leaves.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    pub chat_id: &'a str,
    pub content: &'a Content,
    /// The message that it answers, where that can be shown.
    pub answers: Option<&'a MessageId>,
    /// Counted from 1.
    pub attempt: u32,
}

/// How the replies of a channel reach their chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The supervisor's `channels/sender.rs` sends the rows of the outbox.
    Push,
    /// The client fetches replies: one that is stored counts as sent.
    Pull,
    /// The channel is not configured: replies wait in the outbox for a run in which it is.
    Off,
}

/// What is run of the messages that waited while the supervisor was off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogLimits {
    /// Older messages are stored but not run.
    pub window: Duration,
    /// At most this many are run in each chat.
    pub most: u32,
}

/// A command of a chat as people see it.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// Without the slash.
    pub name: &'static str,
    /// A line for the menu.
    pub summary: Text<'static>,
    /// Whether only the owner of the bot may give it.
    pub is_owners: bool,
}

impl Described {
    /// One for everybody that the bot works for.
    pub const fn general(name: &'static str, summary: Text<'static>) -> Self {
        Self { name, summary, is_owners: false }
    }

    /// One for the owner of the bot alone.
    pub const fn owners(name: &'static str, summary: Text<'static>) -> Self {
        Self { name, summary, is_owners: true }
    }
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

/// What became of an attempt to send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    Sent {
        /// Its ID in the chat, or those of an album; none where the channel gives none.
        message_ids: Vec<MessageId>,
    },
    /// Try again after a pause.
    Retry {
        error: String,
        pause: Duration,
        /// There was no answer: it is tried again as soon as the service can be reached.
        is_unanswered: bool,
    },
    /// The service does not take these files as one album: send them one after the other.
    Apart { error: String },
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

    /// Whether somebody can be asked about calls that wait for a person.
    pub fn have_approvers(&self) -> bool {
        self.iter().any(|one| one.delivery() == Delivery::Push && !one.access().approvers().is_empty())
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
