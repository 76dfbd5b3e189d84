//! Commands: runs them in the sandbox, hides from them what they must not see, and removes what they leave
//! behind for other programs to run.
//!
//! Nothing here knows HTTP, the tools or the journal.

pub mod command;
pub mod control_files;
pub mod network;
pub mod obstacle;
pub mod processes;
mod watch;
