//! The sandbox with real commands, as every kind of user and in every tier that this machine supports.
//!
//! Each attack first shows that it works without the sandbox. Nothing is skipped: as root the tests run as
//! root and as an ordinary user, otherwise as the current user.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod covers;
mod ending;
mod false_positives;
mod fixture;
mod layers;
mod limits;
mod network;
mod own_directories;
mod prepared;
