//! The sandbox against real commands, by every kind of user and in every tier that this machine has.
//!
//! Each attack first shows that it works without the sandbox. Nothing is skipped: as root the tests run as
//! root and as an ordinary user, else as the user that runs them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod bounds;
mod control_files;
mod ending;
mod honest;
mod layers;
mod place;
