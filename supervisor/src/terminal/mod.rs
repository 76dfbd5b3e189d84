//! Text for terminals: tables that fit, colours, ages instead of dates.
//!
//! Pure functions: nothing here reads the environment or writes anywhere.

pub mod age;
pub mod paint;
pub mod table;
pub mod width;

pub use paint::{Colour, Paint};
pub use table::{Column, Table};

/// The default width of a terminal.
pub const COLUMNS: usize = 80;
