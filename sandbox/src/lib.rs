//! What the kernel holds, so that nothing above has to be believed.
//!
//! This crate knows Landlock and the calls of the kernel, and neither HTTP nor tools nor an async
//! runtime. Each step says which of them failed.

mod confine;

pub use confine::{ConfineError, Confinement, Reach, confine_this_thread};
