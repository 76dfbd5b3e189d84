//! The system call filter: what a command may not even ask the kernel for.
//!
//! `denied` is the list, `machine` what differs between processors, `program` turns both into the
//! kernel's filter language. A call that this list does not know, because it is newer, answers as an older
//! kernel would.

mod denied;
mod machine;
mod program;

pub use program::filter;
