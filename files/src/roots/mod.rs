//! Roots: the only way from a path in a call to something on the disk.
//!
//! A root is held as a directory handle, opened once at the start. The kernel resolves every path beneath a
//! handle (`openat2`), so there is no moment between a check and its use, and a link that leads out is
//! refused wherever it is in the path. Which part of the roots that is depends on the session of the call
//! ([`Workspaces`]). No other module of this crate opens what a caller named.

mod aliases;
mod certificates;
mod child;
mod control_names;
mod denied;
mod error;
mod git_layout;
mod git_rules;
mod long_path;
pub mod names;
mod near;
mod open;
mod resolve;
mod root;
mod target;
mod touched;
mod workspaces;

pub use aliases::{CACHE_ALIAS, STATE_ALIAS};
pub use certificates::{is_public_at, may_be_certificate};
pub use child::{make_child_directory, open_child_directory, open_child_file};
pub use control_names::ControlFiles;
pub use denied::{DEFAULT_DENIED, DeniedPaths};
pub use git_rules::GitChange;
pub use long_path::{open_long, stat_long};
pub use open::{Lead, Opened, QUARANTINE, Roots, UNDO_DIRECTORY, lexically_clean};
pub use root::RootsError;
use settings::table::TOOL_PROTECTED;
pub use target::{Entry, Missing, Target};
pub use workspaces::Workspaces;

/// The default of AUTONOUS_TOOL_PROTECTED: the control files that file tools never write.
pub const DEFAULT_PROTECTED: &str = TOOL_PROTECTED.default_text();
