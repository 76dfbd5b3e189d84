//! What a person at a terminal sees: columns that fit, colours where they help, ages instead of dates.
//!
//! Pure text: nothing here knows what it shows, reads the environment or writes anywhere.

pub mod age;
pub mod paint;
pub mod table;
pub mod width;

pub use paint::{Colour, Paint};
pub use table::{Column, Table};

/// The width of a terminal that nobody has widened.
pub const COLUMNS: usize = 80;
