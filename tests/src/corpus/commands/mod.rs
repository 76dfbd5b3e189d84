//! What cases of commands need beyond one answer: a mode of the sandbox, a canary in the server's
//! environment, listeners that must hear nothing, probe programs, and a look at the machine afterwards.

pub(super) mod checks;
mod evidence;
mod listeners;
mod mode;
mod probes;
pub(super) mod steps;
mod surroundings;
pub(super) mod unsandboxed;

pub use mode::Mode;
pub(super) use surroundings::Surroundings;
pub use surroundings::{CANARY, CANARY_NAME};
pub use unsandboxed::{runs_unsandboxed, works_unsandboxed};
