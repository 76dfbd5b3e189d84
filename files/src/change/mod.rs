//! Changing files: the only code that writes beneath the roots, for every tool that changes something.
//!
//! A change reads the file, checks the optimistic lock, makes the new content, shows the difference, and
//! renames a whole new file over the old one: no reader ever sees half of it, and no other change is
//! overwritten. A dry run does all of that but the last step. An upload is written as it arrives, and hashed
//! on the way, so that it never lies in memory as a whole. Several files can be changed as one:
//! all of them or none.

mod apply;
mod attributes;
mod changer;
mod commit;
mod content_hash;
mod current_file;
mod delete;
pub mod diff;
pub mod edits;
mod error;
mod file_hash;
mod hidden;
mod intents;
mod request;
mod several;
mod temp_files;
mod undo;
mod upload;

pub use changer::{Changer, Durability};
pub use current_file::{CurrentFile, mtime_ms, read_whole, size_and_mtime, size_bytes};
pub use error::{io_error, refuse_placeholder};
pub use file_hash::{FileHashes, hash_file};
pub use request::{ChangeData, ChangeRequest, ExpectedSha256, NewContent, Operation, PlannedChange};
pub use several::NewFile;
pub use undo::{UndoData, UndoRequest, UndoStore};
pub use upload::{Condition, UploadRequest, too_large};
