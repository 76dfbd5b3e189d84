//! What a tool is, and everything that follows from one list of tools.
//!
//! A tool is a type that implements [`Tool`]. A process puts its tools into one [`Registry`], and the
//! [`Runner`] runs every call past the same guards. Routes, OpenAPI and the schemas that models read are
//! functions of the registry. Nothing here listens on a port or opens a file, except the operator's rules
//! and the runner's own state: idempotency keys, approvals and tool allow-lists.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod arguments;
pub mod breaker;
pub mod catalogue_rules;
pub mod contacts;
mod description;
pub mod function;
pub mod function_schemas;
pub mod grant;
mod locks;
pub mod openapi;
mod outcome;
pub mod output;
mod output_sink;
mod path_text;
pub mod policy;
mod registry;
pub mod runner;
pub mod schema;
pub mod shell;
mod slot;
mod strict_json;
mod tool;

pub use grant::{Grant, Scope};
pub use locks::{Fingerprint, Seen};
pub use outcome::{Failure, Outcome, PartialReason, Success};
pub use output::{Bounds, Page};
pub use output_sink::{OutputPart, OutputSink};
pub use path_text::PathText;
pub use registry::{Registry, RegistryError};
pub use runner::approvals;
pub use runner::{Meter, OutputKeeper, Recorder, Request, Runner, RunnerSettings};
pub use slot::Slot;
pub use tool::{Attachment, Call, NamedFiles, PersonAnswer, Tool};

/// The functions of the worker, sorted: they change only its conversation, and are no tools. Settings of the
/// tool server may name them.
pub const WORKER_FUNCTIONS: [&str; 2] = ["plan_create", "plan_update"];

/// What a mutex holds, even after a panic: nothing is left half changed behind a mutex of ours.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
