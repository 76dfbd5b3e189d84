//! The tool server's journal becomes events, each record exactly once.
//!
//! The position in the file and the hash of its last line are committed together with the events they
//! count, which anchors the end of the chain. Nothing here ever writes to the journal.

pub mod chain;
pub(crate) mod files;
pub mod follower;
mod reading;
mod watch;

pub use follower::{Journal, follow};
