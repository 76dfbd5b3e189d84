//! What a tool is, and all that follows from having one list of them.
//!
//! A tool is a type that implements [`Tool`]; a process puts its tools into one [`Registry`]; the
//! [`Runner`] takes every call past the same guards in the same order. Routes, OpenAPI and the schemas
//! that models read are functions of the registry. Nothing here listens on a port, and no
//! file is opened but the runner's own idempotency keys.

pub mod arguments;
pub mod breaker;
pub mod locks;
pub mod openapi;
mod outcome;
pub mod output;
pub mod redaction;
pub mod registry;
pub mod runner;
mod schema;
mod strict_json;
pub mod tool;

pub use locks::{Fingerprint, Seen};
pub use outcome::{Failure, Outcome, PartialReason, Success};
pub use output::{Bounds, Page};
pub use redaction::{PLACEHOLDER, RedactingWriter, Redactor};
pub use registry::{Registry, RegistryError};
pub use runner::{Recorder, Request, Runner, RunnerSettings};
pub use tool::{Call, Slot, Tool};
