//! Undo: what a file tool replaced or removed is kept for a week, so that each change can be taken back.
//!
//! Before a change is made, the file that it replaces gets a second name in `<output>/undo/` (a hard link, or
//! a copy where that is not possible), and a line says which change it belongs to. So whenever the server is
//! killed, either the change was not made, or it can be undone. What commands changed is not kept.

mod contents;
mod kept;
mod log;
mod moved;
mod record;
mod restore;
mod store;

pub(super) use kept::{KeptChange, Undoable};
pub(super) use record::{AppendedFile, Change, KeptContent};
pub use restore::{UndoData, UndoRequest};
pub use store::UndoStore;
