//! Finds in the roots what commands must not see and what they must not change.

mod scan;

pub(crate) use scan::{Scan, Scanner};
