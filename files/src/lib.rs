//! Files beneath the allowed roots: opens what a caller named, changes it, and keeps what it replaces.
//!
//! Nothing else of the tool server opens a path that a caller named. Nothing here knows HTTP, the tools or
//! the journal, or runs a command.

pub mod change;
mod kept_outputs;
pub mod output_store;
pub mod roots;

pub use kept_outputs::KeptOutputs;
