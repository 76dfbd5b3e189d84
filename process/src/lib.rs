//! What every Autonous process needs: hardening, settings, secrets, logs, and an end with its parent.
//!
//! Variables are parsed and refused in one way, secrets never stay in an environment, and logs look the same.
//! Nothing here knows about tools, tasks or chats.

pub mod allocator;
pub mod approvals;
pub mod config_file;
pub mod confinement;
pub mod descriptors;
pub mod exit;
pub mod fd_passing;
pub mod fetch_profiles;
pub mod forked;
pub mod hardening;
pub mod known_variables;
pub mod lifeline;
pub mod log_queue;
pub mod logs;
pub mod models;
pub mod open_files;
pub mod public_address;
pub mod quotas;
pub mod seccomp;
pub mod secrets;
pub mod self_check;
pub mod shutdown;
pub mod sign_of_life;
pub mod variables;
pub mod workspaces;

pub use secrets::Secret;
pub use variables::{VariableError, Variables};
