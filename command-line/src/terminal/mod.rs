//! Text for terminals: tables that fit, colours.
//!
//! Pure functions: nothing here reads the environment or writes anywhere.

pub(crate) mod growing;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod styled;
pub(crate) mod table;
pub(crate) mod width;

pub(crate) use paint::{Colour, Paint};
pub(crate) use screen::{COLUMNS, Screen};
pub(crate) use table::{Column, Table};
