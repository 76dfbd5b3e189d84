//! The tool server's journal becomes events, each record exactly once.
//!
//! The position in the file and the hash of its last line are committed together with the events up to
//! there, which anchors the end of the hash chain: a journal that was cut, removed or rewritten does not
//! fit to it. Nothing here writes to the journal.

pub(crate) mod chain;
pub mod compare;
pub(crate) mod files;
pub(crate) mod follower;
mod handle;
mod read;
pub mod tampering;
mod watch;

pub use follower::follow;
pub(crate) use handle::{CopyRequest, Journal};
pub(crate) use read::read_piece;
