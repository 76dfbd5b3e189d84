//! Schedules: what a chat wants to be done later, as tasks when it is due.
//!
//! A schedule is a row. When it is due, its task is queued and its next time decided in one transaction, so
//! each time is run once, whatever is killed. A time that passed while no supervisor ran is run once, at most
//! a day late; later ones are not run, and the chat gets a message.

pub(crate) mod due;

use std::sync::Arc;

use channel::{Channels, Chat, Content, Rejection};
use store::Store;
use tokio::sync::Notify;

/// What tools and the clock share.
#[derive(Clone)]
pub(crate) struct Schedules {
    pub(crate) store: Store,
    pub(crate) channels: Channels,
    pub(crate) limits: ScheduleLimits,
    /// Notified when a schedule was added.
    pub(crate) changed: Arc<Notify>,
}

impl Schedules {
    pub(crate) fn new(store: &Store, channels: &Channels, limits: ScheduleLimits) -> Self {
        Self { store: store.clone(), channels: channels.clone(), limits, changed: Arc::default() }
    }
}

/// How much a chat may set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScheduleLimits {
    /// The most schedules of a chat that are open.
    pub(crate) most_of_chat: u32,
    /// The shortest pause between two times of one, in minutes.
    pub(crate) least_minutes: u32,
}

impl ScheduleLimits {
    pub(crate) fn least_pause_ms(self) -> i64 {
        i64::from(self.least_minutes) * 60_000
    }
}

/// Why nothing is done for a chat; none if the bot works for it.
pub(crate) fn refusal(channels: &Channels, chat: &Chat) -> Option<Rejection> {
    let probe = Content::Text("?".to_owned());
    match channels.get(&chat.channel) {
        Some(channel) => channel.prepare(&chat.id, probe).err(),
        None => Some(Rejection::Invalid(format!("the channel {} is unknown", chat.channel))),
    }
}
