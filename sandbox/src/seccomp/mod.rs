//! The system call filter.
//!
//! `denied` has the rules, `machine` what differs between architectures, and `program` turns both into the
//! kernel's filter language. Calls that are newer than the rules fail as they would on an older kernel.

mod denied;
mod machine;
mod program;

pub(crate) use program::filter;
