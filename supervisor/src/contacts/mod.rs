//! Contacts: the people that a chat can write to, over which route, and the notes about a message that did
//! not arrive.
//!
//! They stand in files of the `state` root, which only the tool server opens. A message goes out by the
//! outbox; what became of it is written back under the hash of the file as it was read.

pub(crate) mod book;
pub(crate) mod deliveries;
mod envelope;
mod route;
mod send;

use std::time::Duration;

use toolkit::{Registry, RegistryError};

use crate::channel_tools::sending::Sending;
use book::Book;

/// What the tool and the follower of deliveries share.
#[derive(Clone)]
pub(crate) struct Contacts {
    pub(crate) sending: Sending,
    pub(crate) book: Book,
    /// How long a contact is not written to after a failure.
    pub(crate) cooldown: Duration,
}

/// Adds the tool to those of Telegram, over which contacts are reached.
pub(crate) fn add_to(registry: Registry, contacts: &Contacts) -> Result<Registry, RegistryError> {
    registry.with(send::ContactsSend(contacts.clone()))
}
