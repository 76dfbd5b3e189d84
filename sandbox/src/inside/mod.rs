//! The processes that hold commands, none of which ever runs the server's code.
//!
//! ```text
//! spawner   one, forked at the start of the server; forks a watcher per command
//!  └ watcher   holds the command's lifeline; ends the keeper when it closes; reports the outcome
//!     └ keeper    the first process inside: sets the command's view up, clears ended processes away
//!        └ command   drops everything, checks that it is gone, and becomes the program
//! ```
//!
//! All are forks of one small single-threaded process, so they may allocate. None holds a secret, a
//! listening socket or a descriptor of the server.

mod descriptors;
mod devices;
mod etc;
pub mod handover;
mod identity;
mod keeper;
mod launch;
mod limits;
mod mounts;
mod private_home;
mod private_view;
mod privileges;
pub mod probe;
mod rights;
mod search;
mod spawning;
mod system_view;
mod watcher;

pub use spawning::serve;
