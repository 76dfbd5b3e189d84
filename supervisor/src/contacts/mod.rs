//! Contacts: the notes about messages to them that did not arrive.
//!
//! Contacts stand in files of the `state` root, which only the tool server opens. A message goes out by the
//! outbox; what became of it is written back under the hash of the file as it was read.

mod book;
pub(crate) mod deliveries;

use std::time::Duration;

use store::Store;

use crate::tool_files::ToolFiles;

/// What the follower of deliveries needs.
#[derive(Clone)]
pub(crate) struct Contacts {
    pub(crate) store: Store,
    /// The tool server, which has the file.
    pub(crate) files: ToolFiles,
    /// How long a contact is not written to after a failure.
    pub(crate) cooldown: Duration,
}
