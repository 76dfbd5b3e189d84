//! What every Autonous process needs: hardening, secrets, logs, and an end with its parent.
//!
//! Secrets never stay in an environment, and logs look the same. Nothing here knows about settings, tools,
//! tasks or chats.

pub mod allocator;
pub mod confinement;
pub mod descriptors;
mod error_chain;
pub mod exit;
pub mod fd_passing;
pub mod forked;
pub mod hardening;
pub mod lifeline;
pub mod log_queue;
pub mod logs;
pub mod open_files;
pub mod parent_pipe;
pub mod public_address;
pub mod seccomp;
pub mod secrets;
pub mod self_check;
pub mod shutdown;
pub mod sign_of_life;

pub use error_chain::error_chain;
pub use secrets::Secret;
