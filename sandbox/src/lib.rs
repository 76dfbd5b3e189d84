//! What the kernel holds, so that nothing above has to be believed.
//!
//! The server confines itself ([`confine_this_thread`]) and runs commands through a small process that
//! was forked before ([`Spawner`]). This crate knows the calls of the kernel, and neither HTTP nor tools
//! nor an async runtime; it reads no environment. Each step says which of them failed. It is the only
//! crate with `unsafe`, and `calls` is the only module with it.

mod calls;
mod capabilities;
mod command;
mod confine;
mod control_files;
mod inside;
mod messages;
mod running;
mod seccomp;
mod self_check;
mod settings;
mod spawner;
mod step;
mod wire;

pub use capabilities::{Capabilities, Finding, Layer, Verdict};
pub use command::{CommandSpec, HOME, Limits};
pub use confine::{ConfineError, Confinement, Reach, confine_this_thread};
pub use control_files::ControlFiles;
pub use running::{Exit, Lifeline, PendingExit, Running};
pub use self_check::Depth;
pub use settings::{Mode, Root, SpawnerSettings, Tier};
pub use spawner::Spawner;
pub use step::{SandboxError, Step, StepError};
