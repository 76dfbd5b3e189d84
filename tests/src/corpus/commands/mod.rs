//! What cases of commands need beyond one answer: a mode of the sandbox, a canary in the server's
//! environment, listeners that must hear nothing, probe programs, and a look at the machine afterwards.

pub(super) mod checks;
pub(super) mod control;
mod mode;
mod probes;
mod scene;
mod sign;
pub(super) mod steps;
mod witness;

pub use control::{is_tried_unheld, works_unheld};
pub use mode::Mode;
pub(super) use scene::Scene;
pub use scene::{CANARY, CANARY_NAME};
