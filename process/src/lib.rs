//! What every process of Autonous does alike, merely to be a process.
//!
//! Variables are read and refused in one way, secrets never stay in an environment, logs look the same,
//! and a child ends when its parent does. Nothing here knows of tools, tasks or chats.

pub mod exit;
pub mod lifeline;
pub mod logs;
pub mod secrets;
pub mod shutdown;
pub mod variables;

pub use secrets::Secret;
pub use variables::{VariableError, Variables};
