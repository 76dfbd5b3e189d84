//! Kernel confinement, so that nothing above it has to be trusted.
//!
//! The server confines itself (`process::confinement`) and runs commands through a small process that was
//! forked before ([`Spawner`]). This crate makes system calls; it knows neither HTTP nor tools nor an async
//! runtime, and it reads no environment. Each error names the step that failed. `syscalls` is its only
//! module with `unsafe`.

mod capabilities;
mod command;
mod inside;
mod messages;
mod remove_tree;
mod running;
mod seccomp;
mod self_check;
mod settings;
mod spawner;
mod step;
mod syscalls;

pub use capabilities::{Capabilities, Finding, Layer, Verdict};
pub use command::{CommandSpec, Cover, CoverKind, HOME, Limits, OwnDirectory, STATE_DESCRIPTOR};
pub use messages::Receivers;
pub use remove_tree::{entries, open_for_owner, remove_tree};
pub use running::{Exit, Lifeline, PendingExit, Running};
pub use self_check::Depth;
pub use settings::{Mode, Network, Root, SpawnerSettings, Tier};
pub use spawner::Spawner;
pub use step::{SandboxError, Step, StepError};
