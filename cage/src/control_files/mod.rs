//! Control files: what makes other programs run code, known by what it is.
//!
//! A command runs in the sandbox, but what it leaves in the roots is used by programs outside of it: git runs
//! hooks and what its settings say, editors and shells run what they find. The guard remembers what was there
//! before a command and reverts the additions of the command. Nothing here runs anything.

mod command_words;
mod flood;
mod git_config;
mod git_index;
mod git_paths;
mod git_settings;
mod guard;
mod guard_error;
mod hazard;
mod inspect;
mod packed_refs;
mod quarantine;
mod rebase;
mod records;
mod running;
mod take_back;
mod tree;

pub use files::roots::ControlFiles;
pub use flood::Flood;
pub use guard::{ControlGuard, Leaving, Recovered};
pub use guard_error::GuardError;
pub use running::GuardedCall;
pub use take_back::LeftBehind;

#[cfg(test)]
mod tests;
